#include "orrery/kernel/fit/grid_fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace orrery {
namespace grid_fit_test {

constexpr AxisSmoothness kStiff = {0.0002, 0.3, 0.3};
constexpr Steps kSteps = {0.03, 0.03};
constexpr int kRounds = 8;

std::vector<double> nodes(int count) {
  std::vector<double> out;
  for (int i = 0; i < count; ++i) out.push_back(i);
  return out;
}

// Rows on every node but `left_out`, of the values that `truth` gives; solved a few times over.
Eigen::VectorXd solved(const SurfaceAxes& axes, Steps steps,
                       const std::function<double(std::size_t)>& truth,
                       std::size_t left_out = ~std::size_t{0}) {
  const GridFit grid(axes, std::vector<AxisSmoothness>(axes.nodes.size(), kStiff), {}, 0, steps);
  std::vector<GridRow> rows;
  std::vector<double> x(axes.nodes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (i == left_out) continue;
    std::size_t rest = i;
    for (std::size_t a = axes.nodes.size(); a-- > 0;) {
      x[a] = axes.nodes[a][rest % axes.nodes[a].size()];
      rest /= axes.nodes[a].size();
    }
    rows.push_back({cell_at(axes, x), truth(i), 1});
  }
  Eigen::VectorXd values = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(axes.size()));
  for (int round = 0; round < kRounds; ++round) values = grid.solve(rows, {}, values);
  return values;
}

TEST(GridFit, StiffSurfaceBlursAStepUnlessStepsAreFree) {
  const SurfaceAxes axes{{nodes(12)}};
  const auto step = [](std::size_t i) { return i < 6 ? 0.0 : 1.0; };
  const Eigen::VectorXd stiff = solved(axes, {}, step), free = solved(axes, kSteps, step);
  EXPECT_GT(stiff[5], 0.1);
  EXPECT_LT(stiff[6], 0.9);
  EXPECT_NEAR(free[5], 0, 0.03);
  EXPECT_NEAR(free[6], 1, 0.03);
}

TEST(GridFit, StepsLeaveNoiseToBeSmoothed) {
  const SurfaceAxes axes{{nodes(12)}};
  const auto noise = [](std::size_t i) { return i % 2 == 0 ? 0.01 : -0.01; };
  const Eigen::VectorXd values = solved(axes, kSteps, noise);
  for (Eigen::Index i = 1; i + 1 < values.size(); ++i) EXPECT_LT(std::abs(values[i]), 0.007) << i;
}

// A kernel that changes where the product of two sizes crosses a line: a diagonal of the grid,
// which both of a left-out node's neighbours of one axis lie on one side of.
TEST(GridFit, ALeftOutNodeTakesItsSideOfADiagonalStep) {
  const std::size_t n = 8;
  const SurfaceAxes axes{{nodes(n), nodes(n)}};
  const auto step = [&](std::size_t i) { return i / n + i % n < 8 ? 0.0 : 1.0; };
  for (const std::size_t i : {std::size_t{2}, std::size_t{3}, std::size_t{5}}) {
    const std::size_t below = i * n + 6 - i, above = i * n + 9 - i;
    EXPECT_LT(solved(axes, kSteps, step, below)[static_cast<Eigen::Index>(below)], 0.2) << i;
    EXPECT_GT(solved(axes, kSteps, step, above)[static_cast<Eigen::Index>(above)], 0.8) << i;
  }
}

TEST(GridFit, StraightLinesAreKeptWithAndWithoutSteps) {
  const SurfaceAxes axes{{nodes(10)}};
  const auto line = [](std::size_t i) { return 0.1 * static_cast<double>(i); };
  for (const Steps& steps : {Steps{}, kSteps}) {
    const Eigen::VectorXd values = solved(axes, steps, line, 4);
    for (Eigen::Index i = 0; i < values.size(); ++i)
      EXPECT_NEAR(values[i], 0.1 * static_cast<double>(i), 0.01) << i;
  }
}

TEST(GridFit, BeyondTheRowsTheNearestKnownNodeHolds) {
  const SurfaceAxes axes{{nodes(8)}};
  std::vector<GridRow> rows;
  for (const double x : {3.0, 4.0}) rows.push_back({cell_at(axes, std::vector<double>{x}), x, 1});
  const std::vector<bool> known = supported_nodes(axes, rows);
  EXPECT_EQ(known, (std::vector<bool>{false, false, true, true, true, true, false, false}));
  std::vector<float> values = {9, 9, 2, 3, 4, 5, 9, 9};
  extend_constant(axes, known, values);
  EXPECT_EQ(values, (std::vector<float>{2, 2, 2, 3, 4, 5, 5, 5}));
}

}  // namespace grid_fit_test
}  // namespace orrery
