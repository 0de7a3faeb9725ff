#include "orrery/base/quantile.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

// numpy.quantile of the same samples, default method.
TEST(Quantile, LinearBetweenOrderStatistics) {
  const std::vector<double> sample = {7, 1, 3, 2};  // sorted 1 2 3 7
  EXPECT_DOUBLE_EQ(quantile(sample, 0), 1);
  EXPECT_DOUBLE_EQ(quantile(sample, 1), 7);
  EXPECT_DOUBLE_EQ(quantile(sample, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(quantile(sample, 0.25), 1.75);
  EXPECT_DOUBLE_EQ(quantile(sample, 0.9), 5.8);  // position 2.7
  EXPECT_DOUBLE_EQ(quantile({5, 5, 1}, 0.75), 5);
}

TEST(Quantile, OneValueAndNone) {
  EXPECT_DOUBLE_EQ(quantile({4}, 0.3), 4);
  EXPECT_TRUE(std::isnan(quantile({}, 0.5)));
}

}  // namespace
}  // namespace orrery
