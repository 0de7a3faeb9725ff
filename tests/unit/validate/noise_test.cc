#include "orrery/validate/report/noise.h"

#include <gtest/gtest.h>

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

}  // namespace noise_test
}  // namespace orrery
