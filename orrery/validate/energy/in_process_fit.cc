#include "orrery/validate/energy/in_process_fit.h"

#include <fmt/format.h>

#include <cmath>

#include "orrery/base/fit.h"

namespace orrery {
namespace {

constexpr double kBend = 0.1;  // of a row, in the logarithm

// Searched between 1 us and 10 ms a sequence and 0.1 and 100 ms a rank, in logarithms.
const std::vector<double> kStart = {std::log(300e-6), std::log(5e-3)};
const Bounds kBounds = {{std::log(1e-6), std::log(1e-4)}, {std::log(10e-3), std::log(100e-3)}};

InProcessTimes times_at(const std::vector<double>& x) {
  return {Seconds(std::exp(x[0])), Seconds(std::exp(x[1]))};
}

Seconds waits_of(const LlmPowerRow& row, const InProcessTimes& t) {
  return t.per_sequence * row.sequence_steps + t.per_rank * row.rank_steps;
}

}  // namespace

InProcessFit fit_in_process(const std::vector<LlmPowerRow>& rows, std::string_view without) {
  std::map<std::string, std::vector<const LlmPowerRow*>> engines;
  for (const LlmPowerRow& r : rows) {
    if (r.rank_steps > 0 && r.group != without) engines[r.engine].push_back(&r);
  }
  InProcessFit fit;
  for (const auto& [engine, used] : engines) {
    const auto loss = [&used = used](const std::vector<double>& x) {
      double sum = 0;
      for (const LlmPowerRow* r : used)
        sum += huber(std::log((r->work.time + waits_of(*r, times_at(x))) / r->time), kBend);
      return sum;
    };
    fit[engine] = times_at(minimise(loss, kStart, kBounds, {.step = 0.3, .evaluations = 400}));
  }
  return fit;
}

StepWork with_waits(const LlmPowerRow& row, const InProcessFit& fit) {
  StepWork work = row.work;
  const auto times = fit.find(row.engine);
  if (times != fit.end()) work.time += waits_of(row, times->second);
  return work;
}

std::string in_process_text(const InProcessTimes& t, const std::string& recipe) {
  return fmt::format(
      "# Made by `orrery fit energy` from {}: do not edit.\nexecution:\n"
      "  in_process_per_sequence: {:.4g} us\n  in_process_per_rank: {:.4g} us\n",
      recipe, 1e6 * t.per_sequence.value(), 1e6 * t.per_rank.value());
}

}  // namespace orrery
