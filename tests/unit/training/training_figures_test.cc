// Do the figures of an iteration follow from their definitions?
#include "orrery/training/figures/training_figures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/unit/training/iteration_fixture.h"

namespace orrery {
namespace training_figures_test {

using namespace iteration_fixture;

constexpr FlopsPerSecond kPeak(312e12);  // of an A100 in bf16

class TrainingFigure : public testing::Test {
 protected:
  TrainingFigures figures(const TrainingJob& job, bool events = false) const {
    const StackTraits stack{.fused_accumulation = true};
    const IterationModel iterations = machine_.iterations(model_);
    const IterationParts parts = machine_.parts(model_, job, stack);
    const TrainingConstants k = machine_.constants(job);
    const IterationEvents e = iteration_events(parts, k, job, true);
    IterationTime t = iteration_time(parts, k, job);
    if (events) t = in_total(t, e.total);
    const Estimate<Seconds> whole = iteration_estimate(parts, t, k, job);
    return training_figures(model_, {job, stack, iterations, parts, t, k, whole}, kPeak,
                            events ? &e : nullptr);
  }
  static TrainingJob job(bool overlap) {
    TrainingJob j = job_of(2, 2, 1, 1, 32);
    j.plan.dp = 4, j.plan.zero = 1, j.plan.dp_overlap = overlap;
    return j;
  }

  const Architecture model_ = gpt(24, 4096, 32);
  const Machine machine_{16};
};

Seconds computation(const IterationTime& t) {
  Seconds sum = std::accumulate(t.work.begin(), t.work.end(), Seconds(0));
  for (const TrainingCost cost : kCollectiveCosts) sum -= t.work[at(cost)];
  return sum;
}

// Whatever is neither computation nor a wait is exposed communication, and none is counted twice.
TEST_F(TrainingFigure, ExposedPartsAddUpToWhatElseTheIterationTakes) {
  for (const bool events : {false, true}) {
    const TrainingFigures f = figures(job(true), events);
    const IterationTime& t = f.time;
    const Seconds else_spent =
        computation(t) + t.launches + t.bubble + t.optimizer + t.host + t.stragglers;
    EXPECT_GT(f.exposed.tensor, Seconds(0));
    EXPECT_GT(f.exposed.data, Seconds(0));
    EXPECT_GT(f.exposed.sends, Seconds(0));
    EXPECT_NEAR(f.exposed.all() / (t.total - else_spent), 1, 1e-9) << events;
    EXPECT_EQ(f.peak_micro_batches.has_value(), events);
  }
}

// Recomputation is executed and is no work of the model.
TEST_F(TrainingFigure, MfuIsTheModelsWorkOverThatOfThePeak) {
  TrainingJob j = job(true);
  j.recompute = Recompute::kFull;
  const TrainingFigures f = figures(j);
  const double work = model_flops_per_token(model_, j) * 32 * 2048;
  EXPECT_EQ(f.tokens, 32 * 2048);
  EXPECT_NEAR(f.mfu.share(), work / (16 * 312e12 * f.whole.value.value()), 1e-12);
  EXPECT_GT(f.hfu.share(), 1.2 * f.mfu.share());
  EXPECT_LT(f.hfu.share(), 1);
}

TEST_F(TrainingFigure, NothingOverlapsWhereAllIsExposed) {
  const TrainingFigures apart = figures(job(false)), together = figures(job(true));
  EXPECT_NEAR(apart.exposed.data / apart.data_communication, 1, 1e-9);
  EXPECT_NEAR(apart.data_overlap, 0, 1e-9);
  EXPECT_GT(together.data_overlap, 0.1);
  EXPECT_LT(together.exposed.data, apart.exposed.data);
}

// A layer is more than its two blocks, and its products are the largest part of the MLP.
TEST_F(TrainingFigure, BlocksArePartsOfTheLayer) {
  const LayerFigures of = figures(job(true)).layer;
  const Seconds blocks = of.attention.value + of.mlp.value;
  EXPECT_LE(blocks, (1 + 1e-9) * of.all.value);
  EXPECT_LT(of.attention_core.value, of.attention.value);
  EXPECT_LT(of.mlp_products, of.flops);
  EXPECT_LT(of.products.time.value, 12 * of.mlp.value);  // of the 12 layers of a stage
}

}  // namespace training_figures_test
}  // namespace orrery
