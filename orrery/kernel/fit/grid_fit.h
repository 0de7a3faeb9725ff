// Fits values on a tensor grid to scattered rows: weighted least squares with a penalty on the
// roughness of the grid, solved by conjugate gradients. Every run gives the same result.
//
// If steps are allowed (Steps of kernel_tables.h), the penalty is reweighted by the previous
// solution, so that the caller solves a few times, each from the last solution.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <Eigen/Sparse>

#include "orrery/kernel/surface/surface.h"
#include "orrery/kernel/tables/kernel_tables.h"

namespace orrery {

// Smallest distance of two nodes that counts in a penalty. Closer pairs mark where a kernel changes
// its tile.
inline constexpr double kLeastGap = 0.25;

// A row as the solver sees it.
struct GridRow {
  SurfaceCell cell;
  double target = 0, weight = 1;
};

class GridFit {
 public:
  // `smoothness` has one entry for each axis. `ridge` > 0 pulls every value to the prior.
  GridFit(SurfaceAxes axes, std::vector<AxisSmoothness> smoothness,
          EquivalentAxes equivalent_axes = {}, double ridge = 0, Steps steps = {});

  const SurfaceAxes& axes() const { return axes_; }

  // The values with the least weighted error on the rows and the least roughness of their
  // difference from `prior` (empty: 0). `start`: the solution that the search begins with and that
  // shows where steps are.
  Eigen::VectorXd solve(std::span<const GridRow> rows, const Eigen::VectorXd& prior,
                        const Eigen::VectorXd& start) const;

 private:
  // weight * (sum of factor * value)^2.
  struct Square {
    std::array<std::pair<std::size_t, double>, 4> terms;  // node and factor; unused: factor 0
    double weight;
    double step;  // size above which it costs in proportion; 0: never
  };
  // The matrix of the squares and the ridge. `values`: values less prior, which show the steps.
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
