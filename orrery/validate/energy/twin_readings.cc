#include "orrery/validate/energy/twin_readings.h"

#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

namespace orrery {
namespace {

using Place = std::array<double, 7>;

Place place_of(const KernelPowerRow& r) {
  constexpr double kLeast = 1e-6;  // of a utilisation: a call without FLOPs has none
  return {std::log2(r.used.compute + kLeast),
          std::log2(r.used.memory + kLeast),
          std::log2(r.time.value()),
          r.sizes[0],
          r.sizes[1],
          r.sizes[2],
          r.sizes[3]};
}

double squared_distance(const Place& a, const Place& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

}  // namespace

TwinReadings twin_readings(const std::vector<KernelPowerRow>& rows, Seconds from, Seconds to) {
  struct Call {
    Place place;
    double power;
  };
  std::map<std::tuple<std::string, std::string, const KernelFamily*, std::string>,
           std::vector<Call>>
      classes;
  for (const KernelPowerRow& r : rows) {
    if (r.time < from || r.time >= to) continue;
    classes[{r.gpu, r.framework, r.family, r.kernel_class}].push_back(
        {place_of(r), r.power.value()});
  }
  TwinReadings out;
  double sum = 0;
  for (const auto& [key, calls] : classes) {
    for (std::size_t i = 0; i < calls.size(); ++i) {
      double nearest = kTwinDistance * kTwinDistance;
      const Call* twin = nullptr;
      for (std::size_t k = 0; k < calls.size(); ++k) {
        const double d = squared_distance(calls[i].place, calls[k].place);
        if (k != i && d < nearest) nearest = d, twin = &calls[k];
      }
      if (twin == nullptr) continue;
      sum += std::abs(std::log(calls[i].power / twin->power));
      ++out.calls;
    }
  }
  if (out.calls > 0) out.difference = sum / real(out.calls);
  return out;
}

}  // namespace orrery
