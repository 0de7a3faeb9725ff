#include "orrery/validate/fit/service_errors.h"

#include <gtest/gtest.h>

#include <cmath>

#include "orrery/base/estimate.h"

namespace orrery {
namespace service_errors_test {

const double kZ = normal_quantile(0.95);

// Eleven rows whose logarithmic errors are 0, 0.1, ..., 1: the 90 % point is 0.9.
std::vector<LeftOut> rows(double kernels, double step, double experts) {
  std::vector<LeftOut> out;
  for (int i = 0; i <= 10; ++i) {
    const LeftOutFigure f{0.1 * i, kernels, step, experts};
    out.push_back({f, f});
  }
  return out;
}

ServiceErrors asked(const std::vector<LeftOut>& rows) { return ask_errors(rows, rows, 0); }

// A 90 % interval reaches kZ deviations. 0.9 / kZ = 0.547, of which kernels already have 0.3.
TEST(ServiceErrors, PutNineOfTenRowsIntoTheirIntervals) {
  const ServiceErrors e = asked(rows(0.09, 1, 0));
  ASSERT_TRUE(e.step);
  EXPECT_NEAR(std::hypot(*e.step, 0.3), 0.9 / kZ, 0.01);
  EXPECT_FALSE(e.experts);
  // First tokens are no worse than steps: nothing is left but the least error.
  ASSERT_TRUE(e.ttft);
  EXPECT_DOUBLE_EQ(*e.ttft, 0.03);
}

// Only a quarter of the variance of a step is in the first token: the rest is its own.
TEST(ServiceErrors, FirstTokensAskForWhatStepsDoNotExplain) {
  std::vector<LeftOut> some = rows(0, 1, 0);
  for (LeftOut& r : some) r.ttft->step = 0.25;
  const ServiceErrors e = asked(some);
  EXPECT_NEAR(*e.step, 0.9 / kZ, 0.01);
  EXPECT_NEAR(*e.ttft, std::sqrt(0.75) * 0.9 / kZ, 0.01);
}

TEST(ServiceErrors, AllRowsWithExpertsAskForTheStep) {
  const ServiceErrors e = asked(rows(0, 1, 0.5));
  EXPECT_NEAR(*e.step, 0.9 / kZ, 0.01);
  EXPECT_EQ(e.experts, 0);
}

// First tokens are asked of the rows of all classes of GPUs, steps of their own class alone.
TEST(ServiceErrors, FirstTokensAreAskedOfAllClasses) {
  std::vector<LeftOut> quiet = rows(0, 0, 0), all = rows(0, 0, 0);
  for (LeftOut& r : quiet) r.ttft->log = 0;
  EXPECT_DOUBLE_EQ(*asked(quiet).ttft, 0.03);
  EXPECT_NEAR(*ask_errors(quiet, all, 0).ttft, 0.9 / kZ, 0.01);
}

// The 95 % quantiles of Student's t with 2, 3 and 6 degrees of freedom are 2.92, 2.353 and 1.943.
TEST(ServiceErrors, FewGroupsWidenFirstTokens) {
  EXPECT_DOUBLE_EQ(widened_for(0), 1);
  EXPECT_DOUBLE_EQ(widened_for(1), 1);
  EXPECT_NEAR(widened_for(3), 2.92 / kZ, 0.11);
  EXPECT_NEAR(widened_for(4), 2.353 / kZ, 0.04);
  EXPECT_NEAR(widened_for(7), 1.943 / kZ, 0.01);
  EXPECT_NEAR(widened_for(10000), 1, 1e-3);
  const std::vector<LeftOut> some = rows(0, 0, 0);
  EXPECT_NEAR(*ask_errors(some, some, 7).ttft, 1.943 / kZ * 0.9 / kZ, 0.01);
}

TEST(ServiceErrors, TooFewRowsAskForNothing) {
  std::vector<LeftOut> few = rows(0, 1, 0);
  few.resize(kLeastErrorRows - 1);
  EXPECT_EQ(asked(few).yaml(), "");
}

}  // namespace service_errors_test
}  // namespace orrery
