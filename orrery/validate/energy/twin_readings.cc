#include "orrery/validate/energy/twin_readings.h"

#include <algorithm>
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

struct Call {
  Place place;
  double power;
};
using Class = std::tuple<std::string, std::string, const KernelFamily*, std::string>;

Class class_of(const KernelPowerRow& r) { return {r.gpu, r.framework, r.family, r.kernel_class}; }

}  // namespace

TwinReadings twin_readings(const std::vector<KernelPowerRow>& rows, Seconds from, Seconds to) {
  std::map<Class, std::vector<Call>> classes;
  for (const KernelPowerRow& r : rows) {
    if (r.time >= from && r.time < to)
      classes[class_of(r)].push_back({place_of(r), r.power.value()});
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

struct NearestReadings::Classes {
  std::map<Class, std::vector<Call>> seen;
};

NearestReadings::NearestReadings(const std::vector<KernelPowerRow>& rows)
    : classes_(std::make_unique<Classes>()) {
  for (const KernelPowerRow& r : rows) {
    if (!r.left_out) classes_->seen[class_of(r)].push_back({place_of(r), r.power.value()});
  }
}
NearestReadings::~NearestReadings() = default;
NearestReadings::NearestReadings(NearestReadings&&) noexcept = default;
NearestReadings& NearestReadings::operator=(NearestReadings&&) noexcept = default;

Watts NearestReadings::of(const KernelPowerRow& call) const {
  const auto found = classes_->seen.find(class_of(call));
  if (found == classes_->seen.end() || found->second.size() < kReadings) return Watts(0);
  const Place place = place_of(call);
  std::vector<std::pair<double, double>> nearest;  // squared distance, power
  for (const Call& c : found->second)
    nearest.push_back({squared_distance(place, c.place), c.power});
  std::partial_sort(nearest.begin(), nearest.begin() + kReadings, nearest.end());
  nearest.resize(kReadings);
  double sum = 0, weights = 0;
  for (const auto& [distance, power] : nearest) {
    const double weight = 1 / (distance + kTwinDistance * kTwinDistance);
    sum += weight * std::log(power), weights += weight;
  }
  return Watts(std::exp(sum / weights));
}

}  // namespace orrery
