#include "orrery/base/estimate.h"

#include <gtest/gtest.h>

namespace orrery {
namespace estimate_test {

using TimeSum = EstimateSum<Seconds>;
using Time = Estimate<Seconds>;

Time time(double value, double shared, double own, Origin origin = Origin::kMeasured) {
  return {Seconds(value), shared, own, origin};
}

TEST(NormalQuantile, PublishedValues) {
  EXPECT_DOUBLE_EQ(normal_quantile(0.5), 0);
  EXPECT_NEAR(normal_quantile(0.975), 1.959963984540054, 3e-9);
  EXPECT_NEAR(normal_quantile(0.95), 1.644853626951473, 3e-9);
  EXPECT_NEAR(normal_quantile(0.01), -2.326347874040841, 4e-9);
  EXPECT_NEAR(normal_quantile(1e-6), -4.753424308822899, 8e-9);
}

// Tables of Student's t with 3 degrees: 0.76489 at 0.75, 2.35336 at 0.95.
TEST(HeavyQuantile, IsStudentsWithTheSigmaOfANormalOne) {
  EXPECT_NEAR(heavy_quantile(0.95) / heavy_quantile(0.75), 2.35336 / 0.76489, 1e-4);
  EXPECT_NEAR(heavy_quantile(0.75) * heavy_quantile(0.95),
              normal_quantile(0.75) * normal_quantile(0.95), 1e-12);
  EXPECT_NEAR(heavy_quantile(0.5), 0, 1e-15);
  EXPECT_DOUBLE_EQ(heavy_quantile(0.05), -heavy_quantile(0.95));
}

TEST(Estimate, HeavyTailsOfOneAreKeptByRepetitionAndLostInASum) {
  const Estimate<Seconds> kernel{Seconds(1), 0.06, 0.08, Origin::kMeasured, Tails::kHeavy};
  EXPECT_DOUBLE_EQ(kernel.quantile(0.95).value(), std::exp(0.1 * heavy_quantile(0.95)));
  EXPECT_DOUBLE_EQ(kernel.scaled(3).quantile(0.95).value(), 3 * kernel.quantile(0.95).value());
  EstimateSum<Seconds> sum;
  sum.add(Family::kGemm, kernel);
  EXPECT_DOUBLE_EQ(sum.total().quantile(0.95).value(), std::exp(0.1 * normal_quantile(0.95)));
}

TEST(Estimate, IntervalsAreLogNormal) {
  const Time t = time(2, 0.3, 0.4);  // sigma 0.5
  EXPECT_DOUBLE_EQ(t.sigma(), 0.5);
  EXPECT_NEAR(t.quantile(0.5).value(), 2, 1e-12);
  EXPECT_NEAR(t.quantile(0.975).value(), 2 * std::exp(0.5 * 1.959963984540054), 1e-7);
  EXPECT_GT(time(2, 3, 4).quantile(1e-9).value(), 0);
}

TEST(Estimate, RepeatingAKernelKeepsItsRelativeError) {
  const Time t = time(2, 0.03, 0.04).scaled(80);
  EXPECT_DOUBLE_EQ(t.value.value(), 160);
  EXPECT_DOUBLE_EQ(t.sigma(), 0.05);
}

TEST(EstimateSum, OneFamilySharesItsErrorAndOwnErrorsAverageOut) {
  TimeSum sum;
  sum.add(Family::kGemm, time(30, 0.10, 0.20));
  sum.add(Family::kGemm, time(10, 0.20, 0.20));
  const Time t = sum.total();
  EXPECT_DOUBLE_EQ(t.value.value(), 40);
  EXPECT_DOUBLE_EQ(t.shared, (30 * 0.10 + 10 * 0.20) / 40);        // 0.125
  EXPECT_DOUBLE_EQ(t.own, std::sqrt(6.0 * 6.0 + 2.0 * 2.0) / 40);  // 30 * 0.2, 10 * 0.2
}

TEST(EstimateSum, CallsOfTheSameKernelAreOffAlike) {
  TimeSum sum;
  sum.add(Family::kGemm, time(30, 0, 0.20), 0);
  sum.add(Family::kGemm, time(10, 0, 0.20), 0);
  EXPECT_NEAR(sum.total().own, 0.20, 1e-12);
  sum.add(Family::kGemm, time(40, 0, 0.20), 1);
  EXPECT_NEAR(sum.total().own, std::hypot(8.0, 8.0) / 80, 1e-12);
  // However many kernels there are, each is told from the others.
  TimeSum many;
  for (std::size_t i = 0; i < 200; ++i) many.add(Family::kGemm, time(1, 0, 0.1), i);
  EXPECT_NEAR(many.total().own, 0.1 / std::sqrt(200.0), 1e-12);
  for (std::size_t i = 0; i < 200; ++i) many.add(Family::kGemm, time(1, 0, 0.1), i);
  EXPECT_NEAR(many.total().own, 0.1 / std::sqrt(200.0), 1e-12);
}

// Equal times do not make terms one kernel; the number that the caller gives does.
TEST(EstimateSum, EqualTimesOfTwoKernelsAreIndependent) {
  TimeSum two, one, none;
  for (std::size_t i = 0; i < 2; ++i) {
    two.add(Family::kGemm, time(1, 0, 0.2), i);
    one.add(Family::kGemm, time(1, 0, 0.2), 7);
    none.add(Family::kGemm, time(1, 0, 0.2));
  }
  EXPECT_NEAR(two.total().own, 0.2 / std::sqrt(2.0), 1e-12);
  EXPECT_NEAR(one.total().own, 0.2, 1e-12);
  EXPECT_NEAR(none.total().own, 0.2 / std::sqrt(2.0), 1e-12);
}

TEST(Estimate, TimesOfTheSameKernelsKeepTheirRelativeError) {
  const Time t = plus(time(30, 0.10, 0.20), time(10, 0.20, 0.40, Origin::kTransferred));
  EXPECT_DOUBLE_EQ(t.value.value(), 40);
  EXPECT_DOUBLE_EQ(t.shared, 0.125);
  EXPECT_DOUBLE_EQ(t.own, 0.25);
  EXPECT_EQ(t.origin, Origin::kTransferred);
  EXPECT_EQ(plus(time(0, 0.1, 0.2), time(0, 0.3, 0.4)).value, Seconds(0));
}

TEST(EstimateSum, FamiliesAreIndependent) {
  TimeSum sum;
  sum.add(Family::kGemm, time(30, 0.10, 0));
  sum.add(Family::kAttention, time(20, 0.20, 0));
  EXPECT_DOUBLE_EQ(sum.total().shared, 5.0 / 50);            // sqrt(3^2 + 4^2)
  EXPECT_DOUBLE_EQ(sum.total(0.1).shared, std::sqrt(0.02));  // and the composition's own error
}

TEST(EstimateSum, WeakestOriginWins) {
  TimeSum sum;
  EXPECT_EQ(sum.total().origin, Origin::kExact);
  sum.add(Family::kGemm, time(1, 0, 0, Origin::kTransferred));
  sum.add(Family::kHost, time(1, 0, 0, Origin::kFitted));
  EXPECT_EQ(sum.total().origin, Origin::kTransferred);
}

TEST(EstimateSum, NothingIsNoNaN) {
  const Time t = TimeSum().total(0.1);
  EXPECT_EQ(t.value, Seconds(0));
  EXPECT_EQ(t.sigma(), 0);
}

TEST(Maximum, FarApartTheLargerDecides) {
  const Time t = maximum(time(1, 0.5, 0.5, Origin::kAnalytical), time(100, 0.1, 0.02));
  EXPECT_EQ(t.value, Seconds(100));
  EXPECT_NEAR(t.shared, 0.1, 1e-12);
  EXPECT_EQ(t.origin, Origin::kMeasured);
}

// By symmetry max^2 + min^2 = A^2 + B^2 halves: the mean square deviation of equal ones.
TEST(Maximum, EqualOnesAreBlendedByHalf) {
  const Time t = maximum(time(5, 0.1, 0.3), time(5, 0.3, 0.1, Origin::kAnalytical));
  EXPECT_EQ(t.value, Seconds(5));
  EXPECT_NEAR(t.sigma(), std::sqrt(0.1), 1e-12);
  EXPECT_NEAR(t.shared, t.own, 1e-12);
  EXPECT_EQ(t.origin, Origin::kAnalytical);
}

TEST(Maximum, OfOneThatIsCertainOnlyWhatIsAboveItCounts) {
  const Time t = maximum(time(5, 0, 0), time(5, 0.2, 0));
  EXPECT_NEAR(t.sigma(), 0.2 / std::sqrt(2.0), 1e-12);
}

TEST(Maximum, WhatIsInBothCancels) {
  // The second is 0.9 of the first and as far off: never the larger.
  const Time t = maximum(time(10, 0.1, 0), time(9, 0.1, 0), 10 * 0.1 * 9 * 0.1);
  EXPECT_NEAR(t.sigma(), 0.1, 1e-12);
}

TEST(Maximum, OfExactOnesIsTheLarger) {
  const Time t = maximum(time(5, 0, 0), time(7, 0, 0, Origin::kExact));
  EXPECT_EQ(t.value, Seconds(7));
  EXPECT_EQ(t.sigma(), 0);
  EXPECT_EQ(t.origin, Origin::kExact);
}

TEST(Names, OfOriginsAndFamilies) {
  EXPECT_EQ(to_text(Origin::kTransferred), "transferred");
  EXPECT_EQ(to_text(Family::kGemm), "gemm");
  EXPECT_EQ(to_text(Family::kOther), "other");
  EXPECT_EQ(static_cast<std::size_t>(Family::kOther) + 1, kFamilies);
}

}  // namespace estimate_test
}  // namespace orrery
