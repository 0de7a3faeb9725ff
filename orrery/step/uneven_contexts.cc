#include "orrery/step/uneven_contexts.h"

#include <algorithm>
#include <cmath>

namespace orrery {
namespace {

constexpr double kTile = 128;  // keys, at a head size of 128

// Of the last wave, with so many blocks at a time.
double wave_efficiency(double blocks, double at_once) {
  const double waves = blocks / at_once;
  return waves / std::ceil(waves);
}

}  // namespace

int flash_splits(std::int64_t blocks, int units, std::int64_t tiles) {
  const double at_once = 2.0 * units, n = static_cast<double>(blocks);
  if (n >= 0.8 * at_once) return 1;
  const auto most = static_cast<int>(
      std::min<std::int64_t>({128, 2 * std::int64_t{units}, std::max<std::int64_t>(tiles, 1)}));
  double best = 0;
  for (int s = 1; s <= most; ++s) best = std::max(best, wave_efficiency(n * s, at_once));
  int splits = 1;
  while (wave_efficiency(n * splits, at_once) < 0.85 * best) ++splits;
  return splits;
}

std::size_t UnevenContexts::most() const {
  return on() ? static_cast<std::size_t>(std::ceil(blocks / kv_heads)) : 0;
}

double UnevenContexts::longest(std::int64_t sequences, double context) const {
  const auto tiles = static_cast<std::int64_t>(std::ceil(context / kTile));
  return blocks / (1.0 * kv_heads * flash_splits(sequences * kv_heads, units, tiles));
}

double UnevenContexts::idle(std::int64_t sequences, double context,
                            std::span<const std::int64_t> contexts) const {
  const double m = std::min(longest(sequences, context), static_cast<double>(sequences));
  double idle = 0;
  for (std::size_t i = 1; static_cast<double>(i) < m && i < contexts.size(); ++i) {
    idle +=
        std::min(1.0, m - static_cast<double>(i)) * static_cast<double>(contexts[0] - contexts[i]);
  }
  return idle;
}

}  // namespace orrery
