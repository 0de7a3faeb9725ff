#include "orrery/validate/energy/table_noise.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "orrery/base/quantile.h"
#include "orrery/validate/energy/twin_readings.h"

namespace orrery {
namespace {

bool is_single(const KernelPowerRow& r) { return !r.steady && !r.again; }

bool counts(const KernelPowerRow& r, Seconds from, Seconds to) {
  return is_single(r) && r.time >= from && r.time < to;
}

std::string call_of(const KernelPowerRow& r) {
  return fmt::format("{} {} {} {}", r.framework, r.family->name(), r.kernel_class, describe(r.op));
}

ReadingsMiss summary_of(std::vector<double> errors) {
  ReadingsMiss out;
  out.calls = errors.size();
  if (errors.empty()) return out;
  for (const double e : errors) out.mean += e / real(errors.size());
  out.median = quantile(std::move(errors), 0.5);
  return out;
}

// The geometric mean of numbers above 0; 0: there are none.
double geometric_mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += std::log(v) / real(values.size());
  return values.empty() ? 0 : std::exp(sum);
}

}  // namespace

SameCalls::SameCalls(const std::vector<KernelPowerRow>& rows) {
  for (const KernelPowerRow& r : rows)
    if (is_single(r)) calls_[call_of(r)].push_back(&r);
}

Watts SameCalls::again(const KernelPowerRow& call) const {
  const auto found = calls_.find(call_of(call));
  if (found == calls_.end()) return Watts(0);
  std::vector<double> others;
  for (const KernelPowerRow* r : found->second)
    if (r != &call && r->gpu == call.gpu) others.push_back(r->power.value());
  return Watts(geometric_mean(others));
}

Watts SameCalls::elsewhere(const KernelPowerRow& call, const BoardPowers& boards,
                           const BoardPower& board) const {
  const auto found = calls_.find(call_of(call));
  if (found == calls_.end()) return Watts(0);
  std::vector<double> others;
  for (const KernelPowerRow* r : found->second) {
    if (r->gpu == call.gpu) continue;
    const double awake = boards.awake().at(r->gpu);
    const double used = std::max(0.0, (r->power / r->limit - awake) / (1 - awake));
    others.push_back((board.awake.value + (board.limit - board.awake.value) * used).value());
  }
  return Watts(geometric_mean(others));
}

ReadingsMiss same_call_misses(const std::vector<KernelPowerRow>& rows, Seconds from, Seconds to) {
  const SameCalls same(rows);
  std::vector<double> errors;
  for (const KernelPowerRow& r : rows) {
    if (!counts(r, from, to)) continue;
    if (const Watts other = same.again(r); other > Watts(0))
      errors.push_back(std::abs(other / r.power - 1));
  }
  return summary_of(std::move(errors));
}

ReadingsMiss nearest_misses(const std::vector<KernelPowerRow>& rows, Seconds from, Seconds to) {
  const NearestReadings nearest(rows);
  std::vector<double> errors;
  for (const KernelPowerRow& r : rows) {
    if (!counts(r, from, to) || !r.left_out) continue;
    if (const Watts near = nearest.of(r); near > Watts(0))
      errors.push_back(std::abs(near / r.power - 1));
  }
  return summary_of(std::move(errors));
}

std::string note_of_readings(const std::vector<KernelPowerRow>& rows) {
  const struct {
    const char* what;
    Seconds from, to;
  } lengths[] = {{"below 20 us", Seconds(0), microseconds(20)},
                 {"from 20 us to 0.1 ms", microseconds(20), kLongCall},
                 {"from 0.1 to 1 ms", kLongCall, milliseconds(1)},
                 {"above 1 ms", milliseconds(1), Seconds(1e9)},
                 {"in all of 0.1 ms and more", kLongCall, Seconds(1e9)},
                 {"in all", Seconds(0), Seconds(1e9)}};
  std::string out =
      "The table's own noise, mean / median error in % where a reading is predicted by other "
      "readings. Of the same call, where it was read more than once:";
  const auto list = [&](auto misses) {
    const char* comma = " ";
    for (const auto& length : lengths) {
      const ReadingsMiss m = misses(rows, length.from, length.to);
      if (m.calls == 0) continue;
      out += fmt::format("{}{:.1f} / {:.1f} {} ({} readings)", comma, 100 * m.mean, 100 * m.median,
                         length.what, m.calls);
      comma = ", ";
    }
  };
  list(same_call_misses);
  out += ". By the four nearest readings of other calls, for left-out calls:";
  list(nearest_misses);
  return out + ".";
}

}  // namespace orrery
