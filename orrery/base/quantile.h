// Exact quantiles of a sample.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace orrery {

// The p-quantile with linear interpolation between order statistics (numpy's default): position
// p*(n-1). NaN for an empty sample. REQUIRES 0 <= p <= 1.
inline double quantile(std::vector<double> sample, double p) {
  if (sample.empty()) return std::numeric_limits<double>::quiet_NaN();
  const double position = p * static_cast<double>(sample.size() - 1);
  const auto below = static_cast<std::ptrdiff_t>(std::floor(position));
  std::nth_element(sample.begin(), sample.begin() + below, sample.end());
  const double low = sample[static_cast<std::size_t>(below)];
  const double fraction = position - static_cast<double>(below);
  if (fraction == 0) return low;
  return low + fraction * (*std::min_element(sample.begin() + below + 1, sample.end()) - low);
}

}  // namespace orrery
