#include "orrery/scenario/answer/prospect.h"

#include <cmath>
#include <limits>

namespace orrery {

double per_chance(double quantity, double chance) {
  return chance > 0 ? quantity / chance : std::numeric_limits<double>::infinity();
}

double chance_within(double median, double deviation, double limit) {
  if (deviation <= 0 || median <= 0 || std::isinf(limit)) return median <= limit ? 1 : 0;
  if (limit <= 0) return 0;
  return 0.5 * std::erfc(std::log(median / limit) / deviation / std::sqrt(2.0));
}

}  // namespace orrery
