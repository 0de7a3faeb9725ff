#include "orrery/scenario/answer/prospect.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "orrery/base/estimate.h"

namespace orrery {

double deviations_at(int level) {
  return normal_quantile((static_cast<double>(level) + 0.5) / kLevels);
}

double expected_score(std::span<const Prospect> settings) {
  double sum = 0;
  for (int level = 0; level < kLevels; ++level) {
    double best = 0;
    for (const Prospect& s : settings)
      if (s.stands() && s.levels > level) best = std::max(best, s.score);
    sum += best;
  }
  return sum / kLevels;
}

double per_chance(double quantity, double chance) {
  return chance > 0 ? quantity / chance : std::numeric_limits<double>::infinity();
}

int levels_within(double median, double deviation, double limit) {
  if (median > limit) {
    int levels = 0;
    while (2 * (levels + 1) < kLevels &&
           median * std::exp(deviation * deviations_at(levels)) <= limit)
      ++levels;
    return levels;
  }
  int levels = kLevels / 2;
  while (levels < kLevels && median * std::exp(deviation * deviations_at(levels)) <= limit)
    ++levels;
  return levels;
}

}  // namespace orrery
