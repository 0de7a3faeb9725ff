// Multilinear interpolation on a tensor grid of one to four dimensions.
//
//   TensorGrid grid({{1, 2, 4}, {0, 10}}, {5, 6,  7, 8,  9, 10});   // values row-major: last axis
//   fastest const double x[] = {1.5, 5}; grid.evaluate(x); // 6.5
//
// In each cell the interpolant is linear along every axis, continuous across cells, and exact at
// the nodes. Evaluation allocates nothing and may be called from many threads.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace orrery {

// What holds beyond the first and last node of an axis.
enum class Beyond {
  kClamped,  // the value at the edge
  kLinear,   // the slope of the outermost cell goes on
};

class TensorGrid {
 public:
  static constexpr std::size_t kMaxAxes = 4;

  // REQUIRES 1..4 axes, each of one or more finite, strictly increasing nodes, and as many finite
  // values as the product of their sizes (std::invalid_argument otherwise). An axis of one node is
  // constant.
  TensorGrid(std::vector<std::vector<double>> axes, std::vector<double> values,
             Beyond beyond = Beyond::kClamped);

  // REQUIRES one finite coordinate an axis.
  double evaluate(std::span<const double> x) const;

  const std::vector<std::vector<double>>& axes() const { return axes_; }
  const std::vector<double>& values() const { return values_; }

 private:
  std::vector<std::vector<double>> axes_;
  std::vector<double> values_;
  std::array<std::size_t, kMaxAxes> strides_{};
  Beyond beyond_;
};

}  // namespace orrery
