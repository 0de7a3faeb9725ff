// Efficiency surfaces, which are fitted for one kernel class on one GPU, and their text form.
//
// A surface gives log(time without floor / base) on a tensor grid: multilinear between the nodes,
// and constant outside of them, so that far from the measured sizes the physics of `base` decides.
//
// A surface may have series. A series is a small surface of one discrete shape (the experts of one
// model), added to the surface along coordinates of its own (SurfacePlace::along). A shape without
// a series is served by the surface alone.
//
// catalog/kernels/<family>/<framework>-<gpu>.txt.gz, compressed with gzip (zcat shows the text):
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
// Packed values are whole multiples of kValueStep. A row runs along the last axis. Each value is
// written as its difference d to left + above - above left, where absent neighbours count as 0. A
// difference is the number 2d (d >= 0) or -2d-1 (d < 0) in base 45, highest digit first. The last
// digit of a number is one of '!' to 'M', the digits before it are 'N' to 'z'. '{' and a number
// stand for that number of differences of 0.
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
  double own = 0.1, shared = 0.05;         // relative errors (base/estimate.h)
  std::vector<float> values;               // at the nodes, row-major
  std::vector<SurfaceSeries> series = {};  // sorted by key
  // Factors on `own` by the share of the floor in a time: below 0.05, below 0.2, below 0.5, above.
  std::array<double, 4> regimes{1, 1, 1, 1};
  MeasuredRange measured_range = {};  // of the calls that it was fitted on and judged by

  static std::size_t regime_of(double floor, double time) {
    return std::size_t{floor >= 0.05 * time} + std::size_t{floor >= 0.2 * time} +
           std::size_t{floor >= 0.5 * time};
  }

  double at(const SurfaceCell& cell) const;
  const SurfaceSeries* find_series(std::uint64_t key) const;  // null: the shape has none
};

struct SurfaceFile {
  std::string comment;            // lines that begin with '#'
  SurfaceAxes axes, series_axes;  // series_axes empty: the family has no series
  std::vector<Surface> surfaces;

  const Surface* find(std::string_view kernel_class) const;
  // log(time without floor / base), series included, of one of its surfaces.
  double at(const Surface& surface, const SurfacePlace& place) const;
};

// The axes of a family, prepared for look-ups, which take a tenth of the time of SurfaceFile::at.
class SurfaceLookup {
 public:
  // `series_axes` is empty for a family without series. REQUIRES 2 to 64 nodes per axis.
  SurfaceLookup(const std::vector<std::vector<double>>& axes,
                const std::vector<std::vector<double>>& series_axes);
  // log(time without floor / base), series included, of a surface on these axes.
  double at(const Surface& surface, const SurfacePlace& place) const;

 private:
  struct Node {
    double x = 0, per_unit = 0;  // 1 / distance to the next
  };
  // Finds the last node at or below x. The axis is cut into equal buckets, each of which knows at
  // which node the search begins. No branch depends on x.
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
  // The value that the series of the shape adds; 0 without one.
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

// Path of a file below catalog/: "kernels/gemm/vllm-h100-sxm.txt.gz".
std::string surface_path(std::string_view family, std::string_view framework, std::string_view gpu);

// `value` rounded to the precision of the text.
float written(double value);

// InputError with file and line: the text is malformed.
SurfaceFile parse_surfaces(std::string_view text, const std::string& name);
std::string to_text(const SurfaceFile& file);

// The bytes of a file that holds `text`, compressed with gzip. Equal texts give equal bytes.
std::string compressed_surfaces(std::string_view text);
// The text of a file from its bytes, which may also be plain text. InputError: damaged.
std::string inflated_surfaces(std::string_view bytes, const std::string& name);

}  // namespace orrery
