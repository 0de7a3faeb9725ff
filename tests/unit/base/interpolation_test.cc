#include "orrery/base/interpolation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <stdexcept>

#include "orrery/base/random.h"

namespace orrery {
namespace {

double at(const TensorGrid& grid, std::vector<double> x) { return grid.evaluate(x); }

TEST(TensorGrid, RowMajorWithTheLastAxisFastest) {
  const TensorGrid grid({{1, 2, 4}, {0, 10}}, {5, 6, 7, 8, 9, 10});
  EXPECT_DOUBLE_EQ(at(grid, {1, 0}), 5);
  EXPECT_DOUBLE_EQ(at(grid, {1, 10}), 6);
  EXPECT_DOUBLE_EQ(at(grid, {2, 0}), 7);
  EXPECT_DOUBLE_EQ(at(grid, {4, 10}), 10);
  EXPECT_DOUBLE_EQ(at(grid, {1.5, 5}), 6.5);
  EXPECT_DOUBLE_EQ(at(grid, {3, 2.5}), 8.25);  // 8 between 7 and 9, and a quarter of 1
}

TEST(TensorGrid, BeyondTheEdges) {
  const TensorGrid clamped({{1, 2, 4}}, {10, 20, 60});
  EXPECT_DOUBLE_EQ(at(clamped, {-3}), 10);
  EXPECT_DOUBLE_EQ(at(clamped, {9}), 60);
  const TensorGrid linear({{1, 2, 4}}, {10, 20, 60}, Beyond::kLinear);
  EXPECT_DOUBLE_EQ(at(linear, {0}), 0);
  EXPECT_DOUBLE_EQ(at(linear, {6}), 100);
}

TEST(TensorGrid, AnAxisOfOneNodeIsConstant) {
  const TensorGrid grid({{7}, {0, 1}}, {3, 5}, Beyond::kLinear);
  EXPECT_DOUBLE_EQ(at(grid, {7, 0.5}), 4);
  EXPECT_DOUBLE_EQ(at(grid, {-100, 0.5}), 4);
}

// A function linear in each coordinate is reproduced exactly, everywhere when extrapolated
// linearly.
TEST(TensorGrid, ReproducesMultilinearFunctionsInEveryDimension) {
  auto f = [](std::span<const double> x) {
    double product = 1;
    for (std::size_t a = 0; a < x.size(); ++a)
      product *= 1 + 0.3 * x[a] * static_cast<double>(a + 1);
    return product;
  };
  RandomStream random(1, "grid");
  for (std::size_t dimensions = 1; dimensions <= 4; ++dimensions) {
    std::vector<std::vector<double>> axes;
    for (std::size_t a = 0; a < dimensions; ++a) {
      std::vector<double> nodes = {random.normal()};
      while (nodes.size() < 2 + a) nodes.push_back(nodes.back() + 0.1 + random.exponential());
      axes.push_back(nodes);
    }
    std::vector<double> values, x(dimensions);
    std::function<void(std::size_t)> fill = [&](std::size_t a) {
      if (a == dimensions) return values.push_back(f(x));
      for (double node : axes[a]) x[a] = node, fill(a + 1);
    };
    fill(0);
    const TensorGrid grid(axes, values, Beyond::kLinear);
    for (int i = 0; i < 200; ++i) {
      for (double& c : x) c = 3 * random.normal();
      EXPECT_NEAR(grid.evaluate(x), f(x), 1e-9 * (1 + std::abs(f(x)))) << dimensions;
    }
  }
}

TEST(TensorGrid, RefusesWhatIsNoGrid) {
  EXPECT_THROW(TensorGrid({}, {}), std::invalid_argument);
  EXPECT_THROW(TensorGrid({{1, 1}}, {0, 0}), std::invalid_argument);
  EXPECT_THROW(TensorGrid({{2, 1}}, {0, 0}), std::invalid_argument);
  EXPECT_THROW(TensorGrid({{1, 2}}, {0}), std::invalid_argument);
  EXPECT_THROW(TensorGrid({{1, NAN}}, {0, 0}), std::invalid_argument);
  EXPECT_THROW(TensorGrid({{1}, {1}, {1}, {1}, {1}}, {0}), std::invalid_argument);
  EXPECT_THROW(at(TensorGrid({{1, 2}}, {0, 1}), {1, 2}), std::invalid_argument);
}

}  // namespace
}  // namespace orrery
