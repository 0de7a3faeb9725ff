#include "orrery/training/iteration/burst_clock.h"

#include <gtest/gtest.h>

#include "orrery/hardware/catalog.h"

namespace orrery {
namespace burst_clock_test {

TEST(BurstClock, ShortCallsOfASweepRunAtAHigherClockThanAStep) {
  const Gpu h100 = Catalog().gpu("h100-sxm");
  EXPECT_NEAR(burst_factor(h100, microseconds(10)), 1.3, 0.01);
  EXPECT_NEAR(burst_factor(h100, milliseconds(1)), 1.15, 1e-9);
  EXPECT_NEAR(burst_factor(h100, milliseconds(100)), 1, 0.01);
}

TEST(BurstClock, LongerCallsStayLonger) {
  const Gpu b200 = Catalog().gpu("b200-sxm");
  Seconds last;
  for (Seconds call = microseconds(1); call < Seconds(1); call = 1.1 * call) {
    const Seconds step = burst_factor(b200, call) * call;
    EXPECT_GT(step, last);
    last = step;
  }
}

TEST(BurstClock, OlderGpusAndCardsHoldTheirClock) {
  EXPECT_EQ(burst_factor(Catalog().gpu("a100-80g-sxm"), microseconds(10)), 1);
  EXPECT_EQ(burst_factor(Catalog().gpu("rtx-5090"), microseconds(10)), 1);
  EXPECT_EQ(burst_factor(Catalog().gpu("mi300x"), microseconds(10)), 1);
}

// 500 W of 700 W: the cube root of 1.4 is 1.119.
TEST(BurstClock, AnSxmBoardWithLessPowerRunsProductsAndAttentionAtALowerClock) {
  const Gpu less = Catalog().gpu("h100-96g-sxm");
  EXPECT_NEAR(power_factor(less), 1.119, 1e-3);
  for (const char* whole : {"h100-sxm", "h200-sxm", "h100-pcie", "h20", "a100-80g-sxm", "b200-sxm"})
    EXPECT_EQ(power_factor(Catalog().gpu(whole)), 1) << whole;
  const auto in_step = [&](TrainingCost cost) {
    KernelTime t;
    t.time.value = milliseconds(1);
    run_in_step(less, cost, 1, t);
    return t.time.value.value() / 1e-3;
  };
  EXPECT_NEAR(in_step(TrainingCost::kProducts), 1.15 * 1.119, 1e-3);
  EXPECT_NEAR(in_step(TrainingCost::kAttention), 1.119, 1e-3);
  EXPECT_NEAR(in_step(TrainingCost::kAttentionBackward), 1.119, 1e-3);
  EXPECT_EQ(in_step(TrainingCost::kElementwise), 1);
}

}  // namespace burst_clock_test
}  // namespace orrery
