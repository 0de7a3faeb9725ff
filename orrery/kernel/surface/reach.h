// Which sizes the measured calls of a kernel class cover, and what is said of a call beyond them.
//
// The reach of a class is a box in the coordinates of its surface, cut where the measured sizes end
// together (the memory of the GPU that was measured bounds the sum of their logarithms). Outside it
// the surface is constant and physics decides; the error grows by the distance, in doublings, to an
// end (BeyondError), beside that of the surface.
//
// Sizes that do the same to a kernel are exchanged first (Carry): attention of 32 KV heads and one
// sequence reads what 8 heads and 4 sequences read, in as many blocks.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace orrery {

inline constexpr std::size_t kMostAxes = 4;
inline constexpr std::size_t kMostSeriesAxes = 3;

// Where a call is on a surface.
struct SurfacePlace {
  SurfacePlace() = default;
  SurfacePlace(double a, double b, double c, double d) : x{a, b, c, d} {}
  std::array<double, kMostAxes> x{};  // as many as the family has axes, usually log2 of sizes
  std::uint64_t series = 0;           // key of its discrete shape; 0: none
  std::array<double, kMostSeriesAxes> along{};
};

// What exceeds the measured sizes along `from` counts as more along `to`: the same work and bytes.
// `error`: relative, of one doubling; it grows with the root of their number.
struct Carry {
  std::size_t from = 0, to = 0;
  double error = 0;
};

struct SurfaceReach {
  static constexpr double kNone = std::numeric_limits<double>::infinity();
  std::array<double, kMostAxes> low{-kNone, -kNone, -kNone, -kNone};
  std::array<double, kMostAxes> high{kNone, kNone, kNone, kNone};
  double most = kNone;  // sum of all coordinates

  bool is_known() const { return most < kNone; }
  bool holds(const SurfacePlace& at) const {
    bool inside = true;
    double sum = 0;
    for (std::size_t a = 0; a < kMostAxes; ++a) {
      inside = inside & (at.x[a] >= low[a]) & (at.x[a] <= high[a]);
      sum += at.x[a];
    }
    return inside & (sum <= most);
  }
  // Doublings from the nearest place that it holds, each coordinate for itself.
  double distance(const SurfacePlace& at) const;
  // Exchanges what lies beyond, where the other size stays within; the relative error of it.
  double carry(std::span<const Carry> carries, SurfacePlace& at) const;
};

// Relative error of a call that lies outside: so much a doubling, and no more than `most`. From
// classes fitted again without the largest sizes of one coordinate (docs/kernels.md, "Beyond the
// measured sizes").
struct BeyondError {
  double a_doubling = 0.16, most = 0.50;
  double at(double distance) const { return std::min(most, a_doubling * std::max(0.0, distance)); }
};
// From so many doublings on nothing is said to be measured.
inline constexpr double kFarBeyond = 1;

}  // namespace orrery
