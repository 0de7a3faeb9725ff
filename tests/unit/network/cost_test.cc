#include "orrery/network/algorithms/cost.h"

#include <gtest/gtest.h>

namespace orrery {
namespace cost_test {

using Kind = Collective::Kind;
using Algorithm = CollectiveAlgorithm;

TEST(Cost, VolumesAreWhatARankMustSend) {
  const Bytes s(800);
  EXPECT_DOUBLE_EQ(collective_volume(Kind::kAllReduce, Algorithm::kRing, 8, s).value(), 1400);
  EXPECT_DOUBLE_EQ(collective_volume(Kind::kAllReduce, Algorithm::kTwoShot, 8, s).value(), 1400);
  EXPECT_DOUBLE_EQ(collective_volume(Kind::kAllReduce, Algorithm::kOneShot, 8, s).value(), 5600);
  EXPECT_DOUBLE_EQ(collective_volume(Kind::kAllReduce, Algorithm::kNvls, 8, s).value(), 800);
  EXPECT_DOUBLE_EQ(collective_volume(Kind::kAllGather, Algorithm::kRing, 4, s).value(), 600);
  EXPECT_DOUBLE_EQ(collective_volume(Kind::kAllToAll, Algorithm::kDirect, 2, s).value(), 400);
  EXPECT_DOUBLE_EQ(collective_volume(Kind::kSend, Algorithm::kDirect, 2, s).value(), 800);
}

TEST(Cost, StepsAreSequentialMessages) {
  EXPECT_EQ(collective_steps(Kind::kAllReduce, Algorithm::kRing, 8), 14);
  EXPECT_EQ(collective_steps(Kind::kReduceScatter, Algorithm::kRing, 8), 7);
  EXPECT_EQ(collective_steps(Kind::kAllReduce, Algorithm::kNvls, 8), 8);
  EXPECT_EQ(collective_steps(Kind::kSend, Algorithm::kDirect, 8), 1);
}

TEST(Cost, EfficiencyIsLinearInTheLogarithmOfRanks) {
  CostCurve c;
  c.efficiency = {0.4, 0.6, 1.0};
  EXPECT_DOUBLE_EQ(c.efficiency_at(2), 0.4);
  EXPECT_DOUBLE_EQ(c.efficiency_at(4), 0.6);
  EXPECT_NEAR(c.efficiency_at(3), 0.4 + 0.2 * 0.58496, 1e-5);
  EXPECT_DOUBLE_EQ(c.efficiency_at(8), 1.0);
  EXPECT_DOUBLE_EQ(c.efficiency_at(1000), 1.0);
}

TEST(Cost, RingByHand) {
  CostCurve c;
  c.latency = microseconds(4);
  c.step = microseconds(1);
  c.pipelining = 0.5;
  c.efficiency = {0.5, 0.5, 0.5};
  // 4 ranks: 6 steps; 3e6 * 1.5 bytes at 50 GB/s: 90 us; sqrt(10 * 90) = 30.
  const CurveTime t =
      curve_time(c, Kind::kAllReduce, Algorithm::kRing, 4, Bytes(3e6), BytesPerSecond(100e9));
  EXPECT_NEAR(t.latency.value(), 10e-6, 1e-12);
  EXPECT_NEAR(t.transfer.value(), 90e-6, 1e-12);
  EXPECT_NEAR(t.total.value(), 115e-6, 1e-12);
}

TEST(Cost, OverlappedIsAtLeastTheLonger) {
  EXPECT_DOUBLE_EQ(overlapped(Seconds(0), Seconds(0)).value(), 0);
  EXPECT_DOUBLE_EQ(overlapped(Seconds(3), Seconds(0)).value(), 3);
  EXPECT_NEAR(overlapped(Seconds(1), Seconds(1)).value(), 1.18921, 1e-5);
}

}  // namespace cost_test
}  // namespace orrery
