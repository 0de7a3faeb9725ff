// The decision rule by hand.
#include "orrery/scenario/answer/prospect.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace orrery {
namespace prospect_test {

TEST(Prospect, OfOneSettingIsItsChanceTimesItsScore) {
  EXPECT_NEAR(expected_score(std::vector<Prospect>{{10, 9}}), 9, 1e-12);
  EXPECT_NEAR(expected_score(std::vector<Prospect>{{9, 10}}), 9, 1e-12);
  EXPECT_NEAR(per_chance(9, 0.9), 10, 1e-12);
  EXPECT_TRUE(std::isinf(per_chance(9, 0)));
}

TEST(Prospect, OfSeveralSettingsIsTheBestThatKeepsTheLimits) {
  // 10 at the first five levels, 8 at the next three, 5 at the last two.
  EXPECT_NEAR(expected_score(std::vector<Prospect>{{8, 8}, {5, 10}, {10, 5}}), 8.4, 1e-12);
  // A setting that is worse at all levels adds nothing.
  EXPECT_NEAR(expected_score(std::vector<Prospect>{{8, 8}, {7, 6}}), 6.4, 1e-12);
}

TEST(Prospect, ThatMissesAtTheMedianIsWorthNothing) {
  EXPECT_EQ(expected_score(std::vector<Prospect>{{1000, 4}}), 0);
  EXPECT_EQ(expected_score({}), 0);
}

TEST(Prospect, LevelsAreTheQuantilesOfTheError) {
  EXPECT_NEAR(deviations_at(0), -1.6449, 1e-4);
  EXPECT_NEAR(deviations_at(9), 1.6449, 1e-4);
  // The limit lies one deviation above the median: 84 % of the errors keep it, 75 % is a level.
  EXPECT_EQ(levels_within(10, 0.1, 10 * std::exp(0.1)), 8);
  EXPECT_EQ(levels_within(10, 0.1, 10), 5);
  EXPECT_EQ(levels_within(10, 0.1, 10 * std::exp(-0.1)), 2);
  EXPECT_EQ(levels_within(10, 0, 10), 10);
  EXPECT_EQ(levels_within(0, 0, std::numeric_limits<double>::infinity()), 10);
}

}  // namespace prospect_test
}  // namespace orrery
