// The sizes that the measured calls of a kernel class cover, and the error of calls outside them.
//
// The measured range of a class is a box in the coordinates of its surface (usually log2 of sizes).
// The box is cut by an upper bound on the sum of the coordinates, because the memory of the
// measured GPU bounds the product of the sizes. Outside the range the surface is constant and the
// physics of the family decides. The relative error of a call grows with its distance from the
// range (ExtrapolationError), in addition to the error of the surface.
//
// Two sizes may have the same effect on a kernel: attention with 32 KV heads and one sequence reads
// the same bytes in the same number of blocks as attention with 8 KV heads and 4 sequences. A
// family lists such pairs (AxisExchange), and the part of a size outside the range is moved to its
// partner before the distance is taken.
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

// The coordinates of a call on the surface of its class.
struct SurfacePlace {
  SurfacePlace() = default;
  SurfacePlace(double a, double b, double c, double d) : x{a, b, c, d} {}
  std::array<double, kMostAxes> x{};  // one for each axis of the family, usually log2 of a size
  std::uint64_t series = 0;           // key of its discrete shape (surface.h); 0: none
  std::array<double, kMostSeriesAxes> along{};  // coordinates on the series of that shape
};

// The part of coordinate `from` above the measured range is moved to coordinate `to`, where it
// means the same work and the same bytes. `error` is the relative error of moving one doubling; the
// error grows with the square root of the number of doublings.
struct AxisExchange {
  std::size_t from = 0, to = 0;
  double error = 0;
};

struct MeasuredRange {
  static constexpr double kNone = std::numeric_limits<double>::infinity();
  std::array<double, kMostAxes> low{-kNone, -kNone, -kNone, -kNone};
  std::array<double, kMostAxes> high{kNone, kNone, kNone, kNone};
  double most = kNone;  // upper bound on the sum of the coordinates

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
  // Distance of `at` from the range in doublings, added over the coordinates; 0 inside.
  double distance(const SurfacePlace& at) const;
  // Moves the part of each coordinate above the range to its exchange partner, if the partner stays
  // inside the range. Returns the relative error that the moves add.
  double exchange(std::span<const AxisExchange> exchanges, SurfacePlace& at) const;
};

// Relative error of a call outside the measured range: `per_doubling` times the distance, at most
// `most`. The defaults come from classes that were fitted again without the largest sizes of one
// coordinate (docs/kernels.md, "Beyond the measured sizes").
struct ExtrapolationError {
  double per_doubling = 0.16, most = 0.50;
  double at(double distance) const {
    return std::min(most, per_doubling * std::max(0.0, distance));
  }
};

// Distance from the measured range, in doublings, at which a time no longer counts as measured.
inline constexpr double kFarExtrapolation = 1;

}  // namespace orrery
