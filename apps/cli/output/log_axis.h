// The logarithmic axis and the colours of drawings.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

namespace orrery::cli {

// Colours that differ in hue and, for prints without colour, in lightness.
inline constexpr std::array<const char*, 6> kPlotColours = {"#1f5fa8", "#c2571a", "#3a7d34",
                                                            "#7b3fa0", "#8a6d1d", "#333333"};

// An axis from one power of ten to another, on the pixels `from` to `to`.
struct LogAxis {
  int low, high;  // powers of ten
  double from, to;
  double at(double v) const {
    const double share = (std::log10(v) - low) / (high - low);
    return from + std::clamp(share, 0.0, 1.0) * (to - from);
  }
};

// The smallest axis that holds both values. REQUIRES 0 < least <= most.
inline LogAxis log_axis(double least, double most, double from, double to) {
  const int low = static_cast<int>(std::floor(std::log10(least)));
  const int high = static_cast<int>(std::ceil(std::log10(most)));
  return {low, std::max(high, low + 1), from, to};
}

}  // namespace orrery::cli
