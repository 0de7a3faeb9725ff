// Efficiency surfaces: what is fitted for one kernel class on one GPU, and its text form.
//
// A surface gives log(time without floor / base) on a tensor grid, multilinear between the nodes
// and constant beyond them: far outside the measured sizes the physics of `base` decides alone.
//
// To that a *series* may be added: a small surface of its own for one discrete shape (the experts
// of one model, say), along `along`. Shapes without one are served by the surface alone.
//
// catalog/kernels/<family>/<framework>-<gpu>.txt:
//   orrery-kernels 2
//   # recipe and errors, for people
//   axes 3 14 9 9                  number of axes and nodes of each
//   0 2 3 4 ...                    nodes, one line an axis
//   series-axes 2 14 27            the same for the series; only where the family has them
//   ...
//   class bf16 floor 2.41 own 0.061 shared 0.02 range !+!%"/ 23.1 regimes 1 0.9 0.8 0.5
//                                  floor in us; relative errors, and factors on `own`; the measured
//                                  range (measured_range.h): for each axis its first and last node
//                                  ('!' is the first node and means no lower end; characters after
//                                  that of the last node are doublings above it), and the upper
//                                  bound on the sum of the coordinates; absent: no bounds
//   packed values                  row-major, wrapped lines
//   series 12345 packed values     key of the shape
//   class ...
//
// Packed values: whole multiples of kValueStep, each as the difference to left + above - above
// left, where a row is one of the last axis, above it the row before, and 0 what is not there. A
// difference d is the number
// 2d or -2d-1, in base 45, highest digit first: '!' to 'M' the last digit, 'N' to 'z' those before.
// '{' and a number: so many differences of 0.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/units.h"
#include "orrery/kernel/surface/measured_range.h"

namespace orrery {

inline constexpr double kValueStep = 0.01;

struct SurfaceAxes {
  std::vector<std::vector<double>> nodes;
  std::size_t size() const;  // number of grid points
};

// Grid points and weights of the cell around x, clamped to the grid. 2^axes entries.
struct SurfaceCell {
  std::size_t count = 0;
  std::size_t index[16];
  double weight[16];
};
SurfaceCell cell_at(const SurfaceAxes& axes, std::span<const double> x);

struct SurfaceSeries {
  std::uint64_t key = 0;
  std::vector<float> values;
};

struct Surface {
  std::string kernel_class;
  Seconds floor;
  double own = 0.1, shared = 0.05;
  std::vector<float> values;
  std::vector<SurfaceSeries> series = {};  // by key
  // Factors on `own` by the floor's share of a time: below 0.05, 0.2, 0.5, and above.
  std::array<double, 4> regimes{1, 1, 1, 1};
  MeasuredRange measured_range = {};  // of the calls that it was fitted on and judged by

  static std::size_t regime_of(double floor, double time) {
    return std::size_t{floor >= 0.05 * time} + std::size_t{floor >= 0.2 * time} +
           std::size_t{floor >= 0.5 * time};
  }

  double at(const SurfaceCell& cell) const;
  const SurfaceSeries* find_series(std::uint64_t key) const;  // null: there is none
};

struct SurfaceFile {
  std::string comment;  // lines beginning with '#'
  SurfaceAxes axes, series_axes;
  std::vector<Surface> surfaces;

  const Surface* find(std::string_view kernel_class) const;
  // log(time without floor / base), series included, of one of its surfaces.
  double at(const Surface& surface, const SurfacePlace& place) const;
};

// The axes of a family, prepared for look-ups: SurfaceFile::at in a tenth of the time.
class SurfaceLookup {
 public:
  // REQUIRES at least two and at most 64 nodes an axis. No series: empty.
  SurfaceLookup(const std::vector<std::vector<double>>& axes,
                const std::vector<std::vector<double>>& series_axes);
  // log(time without floor / base), series included, of a surface on these axes.
  double at(const Surface& surface, const SurfacePlace& place) const;

 private:
  struct Node {
    double x = 0, per_unit = 0;  // 1 / distance to the next
  };
  // Finds the last node at or below x: the range is cut into equal buckets, and for each it is
  // known where to begin. No branch depends on x.
  struct Axis {
    Axis(const std::vector<double>& of, std::size_t its_stride);
    static constexpr std::size_t kBuckets = 256, kMostNodes = 64;
    double first = 0, last = 0, buckets_per_unit = 0;
    std::size_t stride = 0;      // from a node's values to the next one's
    std::size_t more_steps = 0;  // nodes in a bucket beyond two
    std::array<std::uint8_t, kBuckets + 1> begin{};
    std::array<Node, kMostNodes + 1> nodes{};
  };
  double crowded_at(const Surface& surface, const SurfacePlace& place) const;
  // What its series adds.
  double series_at(const Surface& surface, const SurfacePlace& place) const;
  static std::vector<Axis> prepared(const std::vector<std::vector<double>>& axes);
  template <bool kCrowded>
  [[gnu::always_inline]] static double value_at(const std::vector<Axis>& axes, const float* values,
                                                const double* x);
  template <bool kCrowded, std::size_t kAxes>
  [[gnu::always_inline]] static double interpolated(const Axis* axes, const float* values,
                                                    const double* x);

  std::vector<Axis> axes_, series_axes_;
  bool crowded_ = false;  // has a bucket with more than two nodes
};

// Below catalog/: "kernels/gemm/vllm-h100-sxm.txt".
std::string surface_path(std::string_view family, std::string_view framework, std::string_view gpu);

// Rounds to what the text holds.
float written(double value);

// InputError with file and line if the text is malformed.
SurfaceFile parse_surfaces(std::string_view text, const std::string& name);
std::string to_text(const SurfaceFile& file);

}  // namespace orrery
