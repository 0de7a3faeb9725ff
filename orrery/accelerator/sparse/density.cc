#include "orrery/accelerator/sparse/density.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "orrery/base/units.h"

namespace orrery {
namespace {

constexpr double kDeviations = 12;
constexpr double kNothing = 1e-20;  // a probability that changes no count

double nonzeros_of(const Density& d) { return std::ceil(d.density * d.tensor_words); }

// C(N-r, n) / C(N, n): no marked element among n of N.
double none_drawn(double all, double marked, double drawn) {
  if (marked + drawn > all) return 0;
  const double fewer = std::min(marked, drawn), other = std::max(marked, drawn);
  double p = 1;
  for (double i = 0; i < fewer && p > kNothing; ++i) p *= (all - other - i) / (all - i);
  return p;
}

// The law of the marked elements among `drawn` of `all`, outwards from its most probable number.
std::vector<Occupancy> drawn_law(double all, double marked, double drawn) {
  const double least = std::max(0.0, drawn + marked - all), most = std::min(drawn, marked);
  const double mean = drawn * marked / all;
  const double spread =
      std::sqrt(mean * (1 - marked / all) * (all - drawn) / std::max(1.0, all - 1));
  const double mode = std::clamp(std::floor((drawn + 1) * (marked + 1) / (all + 2)), least, most);
  const double first = std::max(least, std::floor(mode - kDeviations * spread - 3));
  const double last = std::min(most, std::ceil(mode + kDeviations * spread + 3));
  const auto up = [&](double k) {  // P(k + 1) / P(k)
    return (marked - k) * (drawn - k) / ((k + 1) * (all - marked - drawn + k + 1));
  };
  std::vector<Occupancy> law(static_cast<std::size_t>(last - first) + 1);
  const auto at = [&](double k) -> double& {
    return law[static_cast<std::size_t>(k - first)].probability;
  };
  at(mode) = 1;
  for (double k = mode; k < last; ++k) at(k + 1) = at(k) * up(k);
  for (double k = mode; k > first; --k) at(k - 1) = at(k) / up(k - 1);
  double sum = 0;
  for (const Occupancy& o : law) sum += o.probability;
  double k = first;
  for (Occupancy& o : law) o = {k++, o.probability / sum};
  return law;
}

std::int64_t side_of(double words) {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::sqrt(words) + 1e-9));
}

// Numbers of non-zeros of the tiles of a grid over a banded matrix, and how many tiles have each.
std::map<std::int64_t, double> banded_tiles(const Density& d, const Tile& tile) {
  const std::int64_t side = side_of(d.tensor_words), width = d.half_width;
  const std::int64_t rows = tile.rows > 0 ? std::min(tile.rows, side) : side_of(tile.words);
  const std::int64_t columns =
      tile.columns > 0 ? std::min(tile.columns, side) : side_of(tile.words);
  const std::int64_t down = std::max<std::int64_t>(1, side / rows);
  const std::int64_t across = std::max<std::int64_t>(1, side / columns);
  std::map<std::int64_t, double> tiles;
  for (std::int64_t r = 0; r < down; ++r) {
    const std::int64_t top = r * rows, bottom = top + rows;  // exclusive
    const std::int64_t left = std::max<std::int64_t>(0, (top - width) / columns);
    const std::int64_t right = std::min(across - 1, (bottom - 1 + width) / columns);
    for (std::int64_t c = left; c <= right; ++c) {
      std::int64_t count = 0;
      for (std::int64_t i = top; i < bottom; ++i) {
        const std::int64_t from = std::max(c * columns, i - width);
        const std::int64_t to = std::min((c + 1) * columns, i + width + 1);
        count += std::max<std::int64_t>(0, to - from);
      }
      ++tiles[count];
    }
    const double beside = real(across - std::max<std::int64_t>(0, right - left + 1));
    if (beside > 0) tiles[0] += beside;
  }
  return tiles;
}

double banded_mean(const Density& d) {
  const double side = real(side_of(d.tensor_words));
  const double width = std::min(real(d.half_width), side - 1);
  return (side + width * (2 * side - width - 1)) / (side * side);
}

const MeasuredTile* measured_at(const Density& d, double words) {
  const auto above = d.measured.upper_bound(words);
  return above == d.measured.begin() ? nullptr : &std::prev(above)->second;
}

double banded_empty(const Density& d, const Tile& tile) {
  if (tile.words == 1) return 1 - banded_mean(d);
  double empty = 0, all = 0;
  for (const auto& [nonzeros, tiles] : banded_tiles(d, tile)) {
    all += tiles;
    if (nonzeros == 0) empty = tiles;
  }
  return empty / all;
}

}  // namespace

Tile tile_of(const EinsumTensor& tensor, std::span<const std::int64_t> extents) {
  Tile tile{tile_words(tensor, extents), 0, 0};
  if (tensor.ranks.size() == 2) {
    tile.rows = rank_extent(tensor.ranks[0], extents);
    tile.columns = rank_extent(tensor.ranks[1], extents);
  }
  return tile;
}

double mean_density(const Density& d) {
  switch (d.kind) {
    case Density::Kind::kDense:
      return 1;
    case Density::Kind::kHypergeometric:
      return nonzeros_of(d) / d.tensor_words;
    case Density::Kind::kBanded:
      return banded_mean(d);
    case Density::Kind::kMeasured:
      return d.measured.empty() ? d.density : d.measured.begin()->second.density;
    case Density::Kind::kFixedStructured:
      break;
  }
  return d.density;
}

double empty_probability(const Density& d, const Tile& tile, const Known* known) {
  switch (d.kind) {
    case Density::Kind::kDense:
      return 0;
    case Density::Kind::kHypergeometric:
      return known != nullptr ? none_drawn(known->words, known->nonzeros, tile.words)
                              : none_drawn(d.tensor_words, nonzeros_of(d), tile.words);
    case Density::Kind::kFixedStructured:
      return std::max(0.0, 1 - d.density * tile.words);
    case Density::Kind::kBanded:
      return banded_empty(d, tile);
    case Density::Kind::kMeasured:
      break;
  }
  const MeasuredTile* measured = measured_at(d, tile.words);
  return measured == nullptr ? 1 - mean_density(d) : measured->empty;
}

std::vector<Occupancy> occupancies(const Density& d, const Tile& tile) {
  switch (d.kind) {
    case Density::Kind::kDense:
      return {{tile.words, 1}};
    case Density::Kind::kHypergeometric:
      return drawn_law(d.tensor_words, nonzeros_of(d), std::min(tile.words, d.tensor_words));
    case Density::Kind::kFixedStructured: {
      const double share = d.density * tile.words, low = std::floor(share);
      if (share == low) return {{share, 1}};
      return {{low, 1 - (share - low)}, {low + 1, share - low}};
    }
    case Density::Kind::kBanded: {
      if (tile.words == 1) return {{0, 1 - banded_mean(d)}, {1, banded_mean(d)}};
      std::vector<Occupancy> law;
      double all = 0;
      for (const auto& [nonzeros, tiles] : banded_tiles(d, tile)) {
        law.push_back({real(nonzeros), tiles});
        all += tiles;
      }
      for (Occupancy& o : law) o.probability /= all;
      return law;
    }
    case Density::Kind::kMeasured:
      break;
  }
  // The share of empty tiles and the mean are measured: the others have equally many.
  const MeasuredTile* measured = measured_at(d, tile.words);
  const double empty = measured == nullptr ? 1 - mean_density(d) : measured->empty;
  const double mean = (measured == nullptr ? mean_density(d) : measured->density) * tile.words;
  if (empty <= 0) return {{mean, 1}};
  if (empty >= 1) return {{0, 1}};
  return {{0, empty}, {mean / (1 - empty), 1 - empty}};
}

double most_nonzeros(const Density& d, const Tile& tile) {
  switch (d.kind) {
    case Density::Kind::kHypergeometric:
      return std::min(tile.words, nonzeros_of(d));
    case Density::Kind::kFixedStructured:
      return std::ceil(tile.words * d.density);
    case Density::Kind::kBanded:
    case Density::Kind::kMeasured:
      return std::ceil(occupancies(d, tile).back().nonzeros);
    case Density::Kind::kDense:
      break;
  }
  return tile.words;
}

}  // namespace orrery
