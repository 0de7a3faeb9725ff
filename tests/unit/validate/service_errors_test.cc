#include "orrery/validate/fit/service_errors.h"

#include <gtest/gtest.h>

#include <cmath>

#include "orrery/base/estimate.h"

namespace orrery {
namespace {

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

// A 90 % interval reaches kZ deviations. 0.9 / kZ = 0.547, of which kernels already have 0.3.
TEST(ServiceErrors, PutNineOfTenRowsIntoTheirIntervals) {
  const ServiceErrors e = ask_errors(rows(0.09, 1, 0));
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
  const ServiceErrors e = ask_errors(some);
  EXPECT_NEAR(*e.step, 0.9 / kZ, 0.01);
  EXPECT_NEAR(*e.ttft, std::sqrt(0.75) * 0.9 / kZ, 0.01);
}

TEST(ServiceErrors, AllRowsWithExpertsAskForTheStep) {
  const ServiceErrors e = ask_errors(rows(0, 1, 0.5));
  EXPECT_NEAR(*e.step, 0.9 / kZ, 0.01);
  EXPECT_EQ(e.experts, 0);
}

TEST(ServiceErrors, TooFewRowsAskForNothing) {
  std::vector<LeftOut> few = rows(0, 1, 0);
  few.resize(kLeastErrorRows - 1);
  EXPECT_EQ(ask_errors(few).yaml(), "");
}

}  // namespace
}  // namespace orrery
