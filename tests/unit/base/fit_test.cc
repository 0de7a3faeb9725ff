#include "orrery/base/fit.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace orrery {
namespace fit_test {

TEST(Minimise, FindsTheMinimumOfABowl) {
  const Loss bowl = [](const std::vector<double>& x) {
    return (x[0] - 0.3) * (x[0] - 0.3) + 4 * (x[1] + 0.2) * (x[1] + 0.2);
  };
  const auto x = minimise(bowl, {0, 0}, equal_bounds(2, -1, 1), {.step = 0.25, .evaluations = 500});
  EXPECT_NEAR(x[0], 0.3, 1e-6);
  EXPECT_NEAR(x[1], -0.2, 1e-6);
}

TEST(Minimise, StaysWithinItsBounds) {
  const Loss falls = [](const std::vector<double>& x) { return -x[0] - x[1]; };
  const auto x =
      minimise(falls, {0, 0.5}, {{-1, 0.5}, {0.75, 0.5}}, {.step = 0.25, .evaluations = 500});
  EXPECT_DOUBLE_EQ(x[0], 0.75);
  EXPECT_DOUBLE_EQ(x[1], 0.5);  // equal bounds: not fitted
}

TEST(Minimise, EvaluatesNoMoreThanItMay) {
  int calls = 0;
  const Loss counted = [&](const std::vector<double>& x) { return ++calls, x[0] * x[0]; };
  minimise(counted, {0.9}, equal_bounds(1, -1, 1), {.step = 0.25, .evaluations = 7});
  EXPECT_LE(calls, 7);
  const int least = std::exchange(calls, 0);
  minimise(counted, {0.9}, equal_bounds(1, -1, 1),
           {.step = 0.25, .evaluations = 10000, .relative_tolerance = 0.1});
  EXPECT_GT(calls, least);
  EXPECT_LT(calls, 1000);  // the tolerance ended it
}

TEST(Losses, AreSquareOrAbsoluteUpToTheLimit) {
  EXPECT_DOUBLE_EQ(huber(-0.5, 1), 0.25);
  EXPECT_DOUBLE_EQ(huber(3, 1), 5);  // 1 + slope 2 times 2
  EXPECT_DOUBLE_EQ(log_tailed(-0.25, 0.5), 0.25);
  EXPECT_DOUBLE_EQ(log_tailed(0.5 * std::exp(1.0), 0.5), 1);
  EXPECT_DOUBLE_EQ(huber_weight(-0.5, 1), 1);
  EXPECT_DOUBLE_EQ(huber_weight(-4, 1), 0.25);
  EXPECT_DOUBLE_EQ(huber_pull(-4, 1), -1);
  EXPECT_DOUBLE_EQ(huber_pull(0.5, 1), 0.5);
}

TEST(LeaveOut, TakesAShareOfNamesAndNeverChangesItsMind) {
  int out = 0;
  for (int i = 0; i < 3000; ++i) out += leave_out_by_hash("row " + std::to_string(i), 3);
  EXPECT_NEAR(out, 1000, 80);
  EXPECT_EQ(leave_out_by_hash("row 1", 3), leave_out_by_hash("row 1", 3));
  EXPECT_TRUE(leave_out_by_hash("any", 1));
}

}  // namespace fit_test
}  // namespace orrery
