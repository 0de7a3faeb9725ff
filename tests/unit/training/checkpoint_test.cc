#include "orrery/training/chance/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "orrery/base/error.h"

namespace orrery {
namespace checkpoint_test {

TEST(Checkpoint, Llama3FailsEveryThreeHours) {
  const Hertz rate = failure_rate(kLlama3FailuresPerGpuDay, 16384);
  EXPECT_NEAR(1 / rate.value() / 3600, 54 * 24 / 419.0, 1e-9);  // 3.1 h
  // Kokolis et al. project 1.8 h for 16,384 GPUs of RSC-1.
  EXPECT_NEAR(1 / failure_rate(kRsc1FailuresPerGpuDay, 16384).value() / 3600, 1.8, 0.05);
}

TEST(Checkpoint, WithoutFailuresOnlyCheckpointsAreAdded) {
  const FailingRun run =
      expected_run(Seconds(100), {Hertz(0), Seconds(3), Seconds(9), Seconds(40)});
  EXPECT_EQ(run.checkpoints, Seconds(9));  // after 40, 80 and 100
  EXPECT_EQ(run.total, Seconds(109));
  EXPECT_EQ(run.failures, 0);
  EXPECT_EQ(run.rework, Seconds(0));
  const Seconds never(std::numeric_limits<double>::infinity());
  EXPECT_EQ(expected_run(Seconds(100), {Hertz(0), Seconds(3), Seconds(9), never}).total,
            Seconds(103));
  EXPECT_EQ(expected_run(Seconds(0), {Hertz(1), Seconds(3), Seconds(9), never}).total, Seconds(0));
}

// By hand: e^(r R) (e^(r s) - 1) / r with r = 0.1, R = 2, s = 5 + 1; twice, and once with s = 3
// + 1.
TEST(Checkpoint, RenewalByHand) {
  const FailingRun run =
      expected_run(Seconds(13), {Hertz(0.1), Seconds(1), Seconds(2), Seconds(5)});
  const double attempts = 2 * (std::exp(0.6) - 1) + (std::exp(0.4) - 1);
  EXPECT_NEAR(run.total.value(), std::exp(0.2) * attempts / 0.1, 1e-12);
  EXPECT_NEAR(run.failures, run.total.value() * 0.1, 1e-12);
  EXPECT_EQ(run.checkpoints, Seconds(3));
  EXPECT_NEAR((run.work + run.checkpoints + run.rework + run.restarts).value(), run.total.value(),
              1e-12);
  EXPECT_GT(run.rework, Seconds(0));
  EXPECT_NEAR(run.goodput(), 13 / run.total.value(), 1e-12);
}

TEST(Checkpoint, YoungByHand) {
  EXPECT_DOUBLE_EQ(young_interval(Seconds(50), Hertz(0.01)).value(), 100);
  // Daly: 100 (1 + sqrt(0.25)/3 + 0.25/9) - 50.
  EXPECT_DOUBLE_EQ(daly_interval(Seconds(50), Hertz(0.01)).value(),
                   100 * (1 + 1 / 6.0 + 1 / 36.0) - 50);
  EXPECT_DOUBLE_EQ(daly_interval(Seconds(200), Hertz(0.01)).value(), 100);
}

TEST(Checkpoint, NoProgressIsSaid) {
  try {
    expected_run(Seconds(1e6), {Hertz(1 / 3600.0), Seconds(10), Seconds(60), Seconds(36000)});
    FAIL();
  } catch (const Infeasible& e) {
    EXPECT_THAT(e.what(), ::testing::HasSubstr("makes no progress"));
  }
  // So long that e^(r s) is no number any more.
  EXPECT_THROW(expected_run(Seconds(1e9), {Hertz(1), Seconds(1), Seconds(0), Seconds(1e6)}),
               Infeasible);
}

}  // namespace checkpoint_test
}  // namespace orrery
