// Exact quantiles of a sample, and its order.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "orrery/base/index.h"

namespace orrery {

// The p-quantile with linear interpolation between order statistics (numpy's default): position
// p*(n-1). NaN for an empty sample. REQUIRES 0 <= p <= 1.
inline double quantile(std::vector<double> sample, double p) {
  if (sample.empty()) return std::numeric_limits<double>::quiet_NaN();
  const double position = p * static_cast<double>(sample.size() - 1);
  const auto below = static_cast<std::ptrdiff_t>(std::floor(position));
  std::nth_element(sample.begin(), sample.begin() + below, sample.end());
  const double low = sample[index(below)];
  const double fraction = position - static_cast<double>(below);
  if (fraction == 0) return low;
  return low + fraction * (*std::min_element(sample.begin() + below + 1, sample.end()) - low);
}

// Sorts a sample from the least to the largest, as std::sort does: a large one by three digits of
// its bits, from the first one that differs, and what they leave alike by comparisons. REQUIRES no
// NaN.
inline void sort_sample(std::vector<double>& sample) {
  constexpr std::size_t kSmall = 4096, kBits = 11, kDigits = 3, kValues = std::size_t{1} << kBits;
  if (sample.size() < kSmall) {
    std::sort(sample.begin(), sample.end());
    return;
  }
  // Bits in the order of the numbers: those of negative ones are inverted.
  constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
  std::vector<std::uint64_t> keys(sample.size()), next(sample.size());
  std::uint64_t differing = 0;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const auto bits = std::bit_cast<std::uint64_t>(sample[i]);
    keys[i] = (bits & kSign) != 0 ? ~bits : bits | kSign;
    differing |= keys[i] ^ keys.front();
  }
  const auto width = static_cast<std::size_t>(std::bit_width(differing));
  const std::size_t below = width > kDigits * kBits ? width - kDigits * kBits : 0;
  const auto digit = [below](std::uint64_t key, std::size_t i) {
    return static_cast<std::size_t>(key >> (below + i * kBits)) & (kValues - 1);
  };
  std::vector<std::array<std::size_t, kValues>> counts(kDigits);
  for (const std::uint64_t key : keys) {
    for (std::size_t d = 0; d < kDigits; ++d) ++counts[d][digit(key, d)];
  }
  for (std::size_t d = 0; d < kDigits; ++d) {
    if (counts[d][digit(keys.front(), d)] == keys.size()) continue;  // all are alike
    std::size_t before = 0;
    for (std::size_t& n : counts[d]) before += std::exchange(n, before);
    for (const std::uint64_t key : keys) next[counts[d][digit(key, d)]++] = key;
    keys.swap(next);
  }
  // Keys that the digits leave alike stand together; few of them are out of order.
  for (std::size_t i = 1; i < keys.size(); ++i) {
    if (keys[i - 1] <= keys[i]) continue;
    const auto alike = [&, prefix = keys[i] >> below](std::size_t at) {
      return keys[at] >> below == prefix;
    };
    std::size_t from = i - 1, to = i + 1;
    while (from > 0 && alike(from - 1)) --from;
    while (to < keys.size() && alike(to)) ++to;
    std::sort(keys.begin() + static_cast<std::ptrdiff_t>(from),
              keys.begin() + static_cast<std::ptrdiff_t>(to));
    i = to - 1;
  }
  for (std::size_t i = 0; i < sample.size(); ++i)
    sample[i] = std::bit_cast<double>((keys[i] & kSign) != 0 ? keys[i] & ~kSign : ~keys[i]);
}

}  // namespace orrery
