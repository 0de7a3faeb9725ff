// Values on a tensor grid from scattered rows: weighted least squares with a penalty on the grid's
// roughness, solved by conjugate gradients (the same result on every run). Where steps are allowed
// the penalty is weighed anew by the solution before: a few solutions one after the
// other, each from the last.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <Eigen/Sparse>

#include "orrery/kernel/families/family.h"

namespace orrery {

// Nodes closer than this count as that far apart: such pairs stand where a kernel changes its tile.
inline constexpr double kLeastGap = 0.25;

// Where a surface may step on a line that is no single node's (another kernel from some product of
// sizes on): differences of this size and more cost by their size, smaller ones by their square.
// 0: all by their square.
struct Steps {
  double second_difference = 0;  // of the deviations that AxisSmoothness::second_difference weighs
  double mixed_difference = 0;   // of the mixed differences
};

// A row as the solver sees it.
struct GridRow {
  SurfaceCell cell;
  double target = 0, weight = 1;
};

class GridFit {
 public:
  // One entry of `smoothness` an axis. `ridge` > 0 pulls every value to the prior.
  GridFit(SurfaceAxes axes, std::vector<AxisSmoothness> smoothness,
          EquivalentAxes equivalent_axes = {}, double ridge = 0, Steps steps = {});

  const SurfaceAxes& axes() const { return axes_; }

  // The values nearest to the rows whose difference from `prior` (empty: 0) is smooth. `start`:
  // where the search begins, and the solution that steps are seen in.
  Eigen::VectorXd solve(std::span<const GridRow> rows, const Eigen::VectorXd& prior,
                        const Eigen::VectorXd& start) const;

 private:
  // weight * (sum of factor * value)^2.
  struct Square {
    std::array<std::pair<std::size_t, double>, 4> terms;  // node and factor; unused: factor 0
    double weight;
    double step;  // size from which on it costs less; 0: never
  };
  // Of the squares and the ridge; values less prior, where steps are seen.
  Eigen::SparseMatrix<double> penalty(const Eigen::VectorXd& values) const;

  SurfaceAxes axes_;
  double ridge_;
  std::vector<Square> squares_;
  bool has_steps_;
  Eigen::SparseMatrix<double> penalty_;  // without any step
};

// Nodes that rows tell something of: those of the rows' cells, and those next to them along an
// axis.
std::vector<bool> supported_nodes(const SurfaceAxes& axes, std::span<const GridRow> rows);

// Gives every other node the value of the nearest such node along the last axis, then along the one
// before, and so on: constant beyond what was measured.
void extend_constant(const SurfaceAxes& axes, std::vector<bool> supported,
                     std::vector<float>& values);

}  // namespace orrery
