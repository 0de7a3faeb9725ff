#include "orrery/kernel/surface/measured_range.h"

#include <algorithm>
#include <cmath>

namespace orrery {

double MeasuredRange::distance(const SurfacePlace& at) const {
  double outside = 0, sum = 0;
  for (std::size_t a = 0; a < kMostAxes; ++a) {
    outside += std::max({0.0, low[a] - at.x[a], at.x[a] - high[a]});
    sum += at.x[a];
  }
  return std::max(outside, sum - most);
}

double MeasuredRange::exchange(std::span<const AxisExchange> exchanges, SurfacePlace& at) const {
  double variance = 0;
  for (const AxisExchange& c : exchanges) {
    const double excess = at.x[c.from] - high[c.from];
    if (!(excess > 0) || at.x[c.to] + excess > high[c.to]) continue;
    at.x[c.from] -= excess;
    at.x[c.to] += excess;
    variance += c.error * c.error * excess;
  }
  return std::sqrt(variance);
}

}  // namespace orrery
