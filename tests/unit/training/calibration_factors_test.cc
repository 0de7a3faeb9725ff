// A user's factors, from iterations made up with a known one.
#include "orrery/training/fit/calibration_factors.h"

#include <gtest/gtest.h>

namespace orrery {
namespace calibration_factors_test {

// One stage whose forward and backward are products alone.
IterationParts products(double seconds) {
  IterationParts p;
  ChunkParts chunk;
  auto& time = chunk.time[at(TrainingCost::kProducts)];
  time[at(TrainingPass::kForward)] = Seconds(seconds);
  time[at(TrainingPass::kBackwardInput)] = Seconds(2 * seconds);
  chunk.layers = 1;
  p.kinds = {chunk};
  p.kind = {0};
  p.stages = {StageParts()};
  return p;
}

TrainingConstants neutral() {
  TrainingConstants k;
  k.value.fill(1);
  k.value[static_cast<std::size_t>(TrainingConstant::kHost)] = 0;
  k.value[static_cast<std::size_t>(TrainingConstant::kLaunch)] = 0.5;
  k.error = 0.35;
  return k;
}

MeasuredIteration measured(const IterationParts& parts, const TrainingJob& job, double seconds) {
  MeasuredIteration m;
  m.parts = &parts, m.job = &job, m.time = Seconds(seconds);
  m.fixed = neutral().value;
  return m;
}

TEST(CalibrationFactors, AFewRunsTellASlowerStack) {
  TrainingJob job;
  const IterationParts small = products(0.1), large = products(1);
  // 30 % more than the 0.3 and 3 s of the parts.
  const RunLikeness like{"m", "", job};
  const CalibrationFactors own = fit_calibration_factors(
      {measured(small, job, 0.39), measured(large, job, 3.9), measured(large, job, 3.9)},
      {like, like, like});
  const TrainingConstants k = with_calibration_factors(neutral(), own, like, 0.12);
  const IterationParts other = products(0.4);
  EXPECT_NEAR(iteration_time(other, k, job).total.value(), 1.3 * 1.2, 0.02 * 1.3 * 1.2);
  EXPECT_EQ(k.error, 0.12);
  EXPECT_EQ(k.cover, FitCover::kCombination);
}

TEST(CalibrationFactors, ARunAsPredictedChangesNothing) {
  TrainingJob job;
  const IterationParts parts = products(0.5);
  const double predicted = iteration_time(parts, neutral(), job).total.value();
  const RunLikeness like{"m", "", job};
  const CalibrationFactors own = fit_calibration_factors({measured(parts, job, predicted)}, {like});
  for (const double f : own.constants) EXPECT_NEAR(f, 1, 1e-6);
  EXPECT_NEAR(own.weights[0], 0, 1e-3);
}

// Two models, one as predicted, one 8 % slower: each next run is like those of its own model, and
// one of a third in between.
TEST(CalibrationFactors, WhatRunsLeaveIsPassedToThoseLikeThem) {
  TrainingJob job;
  const IterationParts parts = products(1);
  const double predicted = iteration_time(parts, neutral(), job).total.value();
  const RunLikeness fast{"fast", "", job}, slow{"slow", "", job}, other{"other", "", job};
  const CalibrationFactors own = fit_calibration_factors(
      {measured(parts, job, predicted), measured(parts, job, 1.08 * predicted)}, {fast, slow});
  const auto ratio = [&](const RunLikeness& run) {
    return iteration_time(parts, with_calibration_factors(neutral(), own, run, 0.12), job)
               .total.value() /
           predicted;
  };
  EXPECT_GT(ratio(slow), ratio(other) + 0.01);
  EXPECT_LT(ratio(fast), ratio(other) - 0.01);
  EXPECT_GT(ratio(slow), 1.05);
  EXPECT_LT(ratio(fast), 1.03);
  // Another micro-batch is a little less like it, another kind of tuning much less.
  RunLikeness longer = slow, adapted = slow;
  longer.job.micro_batch = 2, adapted.job.tuning = Tuning::kLora;
  EXPECT_LT(ratio(longer), ratio(slow));
  EXPECT_LT(ratio(adapted), ratio(longer));
}

}  // namespace calibration_factors_test
}  // namespace orrery
