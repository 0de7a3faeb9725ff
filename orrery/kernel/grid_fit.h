// Values on a tensor grid from scattered rows: weighted least squares with a penalty on the grid's
// roughness, solved by conjugate gradients (the same result on every run).
#pragma once

#include <span>
#include <vector>

#include <Eigen/Sparse>

#include "orrery/kernel/family.h"

namespace orrery {

// Nodes closer than this count as that far apart: such pairs stand where a kernel changes its tile.
inline constexpr double kLeastGap = 0.25;

// A row as the solver sees it.
struct GridRow {
  SurfaceCell cell;
  double target = 0, weight = 1;
};

class GridFit {
 public:
  // One entry of `smoothness` an axis. `ridge` > 0 pulls every value to the prior.
  GridFit(SurfaceAxes axes, std::vector<AxisSmoothness> smoothness, Exchange exchange = {},
          double ridge = 0);

  const SurfaceAxes& axes() const { return axes_; }

  // The values nearest to the rows whose difference from `prior` (empty: 0) is smooth. `start`:
  // where the search begins.
  Eigen::VectorXd solve(std::span<const GridRow> rows, const Eigen::VectorXd& prior,
                        const Eigen::VectorXd& start) const;

 private:
  SurfaceAxes axes_;
  Eigen::SparseMatrix<double> penalty_;
};

// Nodes that rows tell something of: those of the rows' cells, and those next to them along an
// axis.
std::vector<bool> supported_nodes(const SurfaceAxes& axes, std::span<const GridRow> rows);

// Gives every other node the value of the nearest such node along the last axis, then along the one
// before, and so on: constant beyond what was measured.
void extend_constant(const SurfaceAxes& axes, std::vector<bool> supported,
                     std::vector<float>& values);

}  // namespace orrery
