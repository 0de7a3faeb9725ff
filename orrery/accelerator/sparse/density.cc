#include "orrery/accelerator/sparse/density.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "orrery/base/units.h"

namespace orrery {
namespace {

double hypergeometric_empty(const Density& d, double words) {
  const double n = d.tensor_words;
  const double set = std::ceil(d.density * n - 1e-9);
  if (set <= 0) return 1;
  if (words > n - set) return 0;
  if (words == 1) return 1 - set / n;
  return std::exp(std::lgamma(n - set + 1) - std::lgamma(n - set - words + 1) - std::lgamma(n + 1) +
                  std::lgamma(n - words + 1));
}

std::int64_t side_of(double words) {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::sqrt(words) + 1e-9));
}

double banded_empty(const Density& d, double words) {
  const std::int64_t tiles = std::max<std::int64_t>(1, side_of(d.tensor_words) / side_of(words));
  const std::int64_t side = side_of(words);
  double full = 0;
  for (std::int64_t k = 1 - tiles; k < tiles; ++k) {
    const std::int64_t nearest = std::max<std::int64_t>(0, std::abs(k) * side - (side - 1));
    if (nearest <= d.half_width) full += real(tiles - std::abs(k));
  }
  return 1 - full / (real(tiles) * real(tiles));
}

}  // namespace

double mean_density(const Density& d) {
  switch (d.kind) {
    case Density::Kind::kDense:
      return 1;
    case Density::Kind::kBanded:
      return 1 - banded_empty(d, 1);
    case Density::Kind::kMeasured:
      return d.measured.empty() ? d.density : d.measured.begin()->second.density;
    case Density::Kind::kHypergeometric:
    case Density::Kind::kFixedStructured:
      break;
  }
  return d.density;
}

double empty_probability(const Density& d, double words) {
  switch (d.kind) {
    case Density::Kind::kDense:
      return 0;
    case Density::Kind::kHypergeometric:
      return hypergeometric_empty(d, words);
    case Density::Kind::kFixedStructured:
      return std::max(0.0, 1 - d.density * words);
    case Density::Kind::kBanded:
      return banded_empty(d, words);
    case Density::Kind::kMeasured:
      break;
  }
  const auto above = d.measured.upper_bound(words);
  return above == d.measured.begin() ? 1 - mean_density(d) : std::prev(above)->second.empty;
}

}  // namespace orrery
