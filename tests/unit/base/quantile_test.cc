#include "orrery/base/quantile.h"

#include <gtest/gtest.h>

namespace orrery {
namespace quantile_test {

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

TEST(SortSample, LargeSamplesAreSortedAsSmallOnes) {
  std::vector<double> sample;
  std::uint64_t x = 1;
  for (int i = 0; i < 20'000; ++i) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    const double size = std::ldexp(1.0, static_cast<int>(x >> 40) % 60 - 30);
    sample.push_back((static_cast<double>(x >> 11) * 0x1p-53 - 0.3) * size);
    if (i % 100 == 0) sample.push_back(0);
  }
  std::vector<double> expected = sample;
  std::sort(expected.begin(), expected.end());
  sort_sample(sample);
  EXPECT_EQ(sample, expected);
}

}  // namespace quantile_test
}  // namespace orrery
