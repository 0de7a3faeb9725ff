// A user's factors, from iterations made up with a known one.
#include "orrery/training/own_factors.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

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

TEST(OwnFactors, AFewRunsTellASlowerStack) {
  TrainingJob job;
  const IterationParts small = products(0.1), large = products(1);
  // 30 % more than the 0.3 and 3 s of the parts.
  const ConstantValues own = fit_own_factors(
      {measured(small, job, 0.39), measured(large, job, 3.9), measured(large, job, 3.9)});
  const TrainingConstants k = with_own_factors(neutral(), own, 0.12);
  const IterationParts other = products(0.4);
  EXPECT_NEAR(iteration_time(other, k, job).total.value(), 1.3 * 1.2, 0.02 * 1.3 * 1.2);
  EXPECT_EQ(k.error, 0.12);
  EXPECT_TRUE(k.calibrated);
}

TEST(OwnFactors, ARunAsPredictedChangesNothing) {
  TrainingJob job;
  const IterationParts parts = products(0.5);
  const double predicted = iteration_time(parts, neutral(), job).total.value();
  for (const double f : fit_own_factors({measured(parts, job, predicted)})) EXPECT_NEAR(f, 1, 1e-6);
}

}  // namespace
}  // namespace orrery
