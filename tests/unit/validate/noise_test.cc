#include "orrery/validate/report/noise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "orrery/validate/edge/judge_tiny.h"
#include "orrery/validate/edge/llm_noise.h"
#include "orrery/validate/edge/nas_noise.h"

namespace orrery {
namespace noise_test {

TEST(NoiseFloor, TheMedianIsTheBestAnswerToAQuestion) {
  NoiseSample s;
  s.add("q", "lab", "1", 100, 100);
  s.add("q", "lab", "2", 110, 100);
  s.add("q", "lab", "3", 80, 100);
  s.add("alone", "lab", "4", 50, 500);  // measured once: says nothing
  const NoiseFloor f = s.repeats();
  EXPECT_EQ(f.questions, 1u);
  EXPECT_EQ(f.best.n, 3u);
  // The median is 100: 0, 10/110 and 20/80.
  EXPECT_NEAR(f.best.mape, 100 * (0 + 10.0 / 110 + 0.25) / 3, 1e-6);
  EXPECT_NEAR(f.best.median, 100 * 10.0 / 110, 1e-4);
  EXPECT_NEAR(f.ours.mape, f.best.mape, 1e-9);  // predicted 100 too
  EXPECT_EQ(s.sources().questions, 0u);         // one source alone
}

TEST(NoiseFloor, SourcesAreOneQuestionRepeatsAreNot) {
  NoiseSample s;
  s.add("q", "a", "1", 90, 100);
  s.add("q", "b", "2", 110, 100);
  EXPECT_EQ(s.repeats().questions, 0u);
  const NoiseFloor f = s.sources();
  EXPECT_EQ(f.questions, 1u);
  EXPECT_NEAR(f.best.mape, 100 * (10.0 / 90 + 10.0 / 110) / 2, 1e-6);  // the median is 100
}

TEST(NoiseFloor, ARowThatComesAgainIsNoSecondMeasurement) {
  NoiseSample s;
  s.add("q", "a", "1", 90, 100);
  s.add("q", "a", "1", 90, 120);
  EXPECT_EQ(s.repeats().questions, 0u);
}

EdgeRow row(double first, double second, double ms) {
  EdgeRow r;
  r.work[0] = first, r.work[1] = second;
  r.time = milliseconds(ms);
  return r;
}

TEST(EdgeNoise, TwinsArePredictedByEachOther) {
  const NasPairs pairs = twins_of({row(1, 2, 4), row(1, 2, 9), row(1, 2, 6), row(3, 2, 5)});
  ASSERT_EQ(pairs.size(), 3u);
  EXPECT_DOUBLE_EQ(pairs[0].first, 4);
  EXPECT_NEAR(pairs[0].second, std::sqrt(9.0 * 6), 1e-9);
  EXPECT_NEAR(pairs[1].second, std::sqrt(4.0 * 6), 1e-9);
}

// Times that are 2 ms, 3 for a unit of the first kind and 5 for one of the second, are found.
TEST(EdgeNoise, ASumOfWorkIsFoundExactly) {
  std::vector<EdgeRow> rows;
  for (const double a : {0.0, 1.0, 4.0}) {
    for (const double b : {0.0, 2.0, 3.0}) rows.push_back(row(a, b, 2 + 3 * a + 5 * b));
  }
  for (const auto& [measured, predicted] : regression_of(rows))
    EXPECT_NEAR(predicted / measured, 1, 1e-5);
}

LlmRow reading(const LlmChip& chip, const char* source, double rate) {
  LlmRow r;
  r.setting.chip = &chip, r.model = "m", r.source = source;
  r.cases = {LlmTimes{}};
  r.measured = TokensPerSecond(rate);
  r.fit.limit = Bytes(1);
  return r;
}

TEST(EdgeNoise, OtherReadingsOfAQuestion) {
  LlmChip chip;
  chip.id = "c";
  std::vector<LlmRow> rows = {reading(chip, "a", 10), reading(chip, "a", 20),
                              reading(chip, "b", 40)};
  const LlmReadings own = other_readings(rows, false, true);
  EXPECT_EQ(own.questions, 1u);
  EXPECT_EQ(own.readings, 2u);
  EXPECT_NEAR(own.mean, (1 + 0.5) / 2, 1e-12);  // 20 for 10, and 10 for 20
  EXPECT_EQ(other_readings(rows, false, false).readings, 3u);
  EXPECT_EQ(other_readings(rows, true, false).readings, 0u);
  rows[1].model = "other";
  EXPECT_EQ(other_readings(rows, false, true).readings, 0u);
}

// Runs that follow a law are fitted by it.
TEST(SmallLawFit, FindsTheLawOfItsRuns) {
  const SmallProcessors all{Bundle()};
  SmallLaw truth;
  truth.cycles = {std::log(1.2), std::log(7.0), std::log(1.6)};
  truth.cores = {{"cortex-m4", 0.6}, {"cortex-m7", -0.2}};
  const std::vector<SmallWork> works = {
      {1e7, 0, 1e3}, {2e6, 3e5, 1e3}, {0, 0, 3e5}, {7e6, 8e5, 500}};
  std::vector<TinyRun> runs;
  for (const char* id : {"stm32l4r5", "psoc-62", "m467", "stm32h7a3", "stm32f746"}) {
    for (std::size_t i = 0; i < works.size(); ++i) {
      TinyRun r;
      r.processor = all.find(id), r.benchmark = std::to_string(i), r.work = works[i];
      r.time = truth.time(r.work, *r.processor).value;
      r.energy = Watts(0.04) * r.time;
      runs.push_back(r);
    }
  }
  const SmallLaw found = fit_small_law(runs);
  for (const TinyRun& r : runs)
    EXPECT_NEAR(found.time(r.work, *r.processor).value / r.time, 1, 0.03) << r.processor->id;
  EXPECT_LT(found.known, 0.08);
  EXPECT_NEAR(found.powers.at("m467").value(), 0.04, 1e-9);
}

}  // namespace noise_test
}  // namespace orrery
