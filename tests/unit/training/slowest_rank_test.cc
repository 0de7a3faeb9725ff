// The wait for the slowest rank.
#include "orrery/training/overlap/slowest_rank.h"

#include <gtest/gtest.h>

#include <cmath>

#include "orrery/training/chance/stragglers.h"
#include "tests/unit/training/iteration_fixture.h"

namespace orrery {
namespace slowest_rank_test {

using namespace iteration_fixture;

// Expected largest of n standard normal draws (Harter 1961, table 1): 0.5642 of 2, 1.4236 of 8,
// 2.5076 of 100.
TEST(SlowestRank, IsTheExpectedLargestDraw) {
  EXPECT_EQ(expected_largest(1), 0);
  EXPECT_NEAR(expected_largest(2), 0.5642, 0.03);
  EXPECT_NEAR(expected_largest(8), 1.4236, 0.015);
  EXPECT_NEAR(expected_largest(100), 2.5076, 0.01);
  for (double n = 1; n < 1e6; n *= 2) {
    EXPECT_LT(expected_largest(n), expected_largest(2 * n));
    EXPECT_LE(expected_largest(n), std::sqrt(2 * std::log(n)));  // the bound of a maximum
  }
}

// The chance of a run draws the same maximum.
TEST(SlowestRank, AgreesWithTheDrawsOfARun) {
  for (const int ranks : {8, 512, 16384})
    EXPECT_NEAR(1 + straggler_time(Seconds(1), ranks, 0.014) / Seconds(1),
                slowest_mean(ranks, 0.014), 5e-4);
}

TEST(SlowestRank, AnIterationOfOneGpuWaitsForNone) {
  const Architecture model = gpt(4, 1024, 16);
  TrainingJob j = job_of(1, 1, 1, 1, 8);
  EXPECT_EQ(Machine(1).time(model, j).stragglers, Seconds(0));
  j.plan.dp = 8;
  const IterationTime eight = Machine(8).time(model, j);
  EXPECT_GT(eight.stragglers, Seconds(0));
  // 1 % times 1.42, of what is not communication.
  EXPECT_LT(eight.stragglers, 0.015 * eight.total);
}

// With the work of each GPU unchanged, an iteration takes the longer the more GPUs there are, and
// its interval gets wider.
TEST(SlowestRank, GrowsWithTheNumberOfGpusUnderWeakScaling) {
  const Architecture model = gpt(4, 1024, 16);
  Seconds before;
  double share = 0;
  for (const int gpus : {8, 64, 512, 4096}) {
    TrainingJob j = job_of(8, 1, 1, 1, gpus / 8);
    j.plan.dp = gpus / 8;
    const IterationTime t = Machine(gpus).time(model, j);
    EXPECT_GT(t.stragglers, before) << gpus;
    EXPECT_LT(t.stragglers, 0.1 * t.total) << gpus;
    before = t.stragglers;
    if (gpus == 8) share = straggler_error(t);
    EXPECT_GT(straggler_error(t), 0) << gpus;
  }
  EXPECT_GT(share, 0);
}

}  // namespace slowest_rank_test
}  // namespace orrery
