#include "orrery/base/quick_math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace orrery {
namespace quick_math_test {

TEST(QuickLog2, AgreesWithTheLibrary) {
  for (double x = 1e-6; x < 1e18; x *= 1.00137) EXPECT_NEAR(quick_log2(x), std::log2(x), 1e-13);
  for (double x = 0.99; x < 1.01; x += 1e-5) EXPECT_NEAR(quick_log2(x), std::log2(x), 1e-14);
}

TEST(QuickLog2, PowersOfTwoAreExact) {
  for (int i = -40; i <= 60; ++i) EXPECT_EQ(quick_log2(std::exp2(i)), i);
}

TEST(QuickLog2, OfTwoIsThatOfEach) {
  for (double x = 1e-6; x < 1e18; x *= 1.00137) {
    const Two both = quick_log2(Two{x, 3 / x});
    EXPECT_EQ(both[0], quick_log2(x));
    EXPECT_EQ(both[1], quick_log2(3 / x));
  }
}

TEST(QuickLog2, OfWholeNumbersIsThatOfNumbers) {
  for (int i = 0; i < 5000; ++i) EXPECT_EQ(quick_log2(i), quick_log2(static_cast<double>(i)));
}

TEST(QuickLog2, ZeroAndInfinityLieBeyondAllSizes) {
  EXPECT_LT(quick_log2(0.0), -1000);
  EXPECT_GT(quick_log2(std::numeric_limits<double>::infinity()), 1000);
}

TEST(QuickExp, AgreesWithTheLibrary) {
  for (double x = -30; x < 30; x += 0.00317) EXPECT_NEAR(quick_exp(x) / std::exp(x), 1, 1e-13);
  EXPECT_EQ(quick_exp(0), 1);
}

TEST(QuickExp, StaysFinite) {
  EXPECT_TRUE(std::isfinite(quick_exp(1e300)));
  EXPECT_GT(quick_exp(-1e300), 0);
}

TEST(Two, RoundsUpEachByItself) {
  // Multiples of 1/132, wherever they lie between whole numbers.
  const Two below_half = {(1 - 1.0 / 132) / 2, (1 - 1.0 / 132) / 2};
  for (int i = 0; i < 1320; ++i) {
    const Two up = ceiling(Two{i * (1.0 / 132), 1e9 + i / 132.0}, below_half);
    EXPECT_EQ(up[0], (i + 131) / 132);
    EXPECT_EQ(up[1], 1e9 + (i + 131) / 132);
  }
  const Two least = minimum(Two{1, 5}, Two{4, 2});
  EXPECT_EQ(least[0], 1);
  EXPECT_EQ(least[1], 2);
}

}  // namespace quick_math_test
}  // namespace orrery
