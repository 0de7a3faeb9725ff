// Does the solver of a kernel class find the constants that made the readings?
#include "orrery/validate/energy/activity_solver.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace orrery {
namespace activity_solver_test {

// Readings of a board of 200 to 1000 W under these constants.
std::vector<ActivityReading> readings_of(const ActivityShares& shares, double exponent) {
  std::vector<ActivityReading> all;
  for (const double compute : {0.02, 0.2, 0.5, 0.9}) {
    for (const double memory : {0.05, 0.3, 0.8}) {
      const Utilisation used{compute, memory, memory};
      const double power = std::min(980.0, 200 + 800 * shares.demanded(used, exponent));
      all.push_back({used, power, 200, 800, 980, 1});
    }
  }
  return all;
}

TEST(SolveActivity, FindsConstants) {
  const ActivityShares made{0.1, 0.5, 0.3};
  const ActivityShares found = solve_activity(readings_of(made, 0.7), 0.7, {0.3, 0.3, 0.3}, 1e-6);
  EXPECT_NEAR(found.fixed, made.fixed, 0.002);
  EXPECT_NEAR(found.compute, made.compute, 0.002);
  EXPECT_NEAR(found.memory, made.memory, 0.002);
}

TEST(SolveActivity, OperandsInTheCacheSayNothingOfTheMemoryChips) {
  // Half of the readings repeat calls whose operands stay in the cache.
  const ActivityShares made{0.1, 0.5, 0.4};
  std::vector<ActivityReading> all = readings_of(made, 0.7);
  for (std::size_t i = 0; i < all.size(); i += 2) {
    all[i].used.off_chip = 0;
    all[i].power = std::min(980.0, 200 + 800 * made.demanded(all[i].used, 0.7));
  }
  const ActivityShares found = solve_activity(all, 0.7, {0.3, 0.3, 0.3}, 1e-6);
  EXPECT_NEAR(found.memory, made.memory, 0.002);
}

TEST(SolveActivity, LimitedReadingsAskOnlyToBeAbove) {
  // Most readings are at the limit; those below it say how steep the rest is.
  const ActivityShares made{0.1, 2, 0.3};
  const ActivityShares found = solve_activity(readings_of(made, 0.7), 0.7, {0.1, 0.5, 0.5}, 1e-6);
  EXPECT_NEAR(found.demanded({0.02, 0.3, 0.3}, 0.7), made.demanded({0.02, 0.3, 0.3}, 0.7), 0.02);
  EXPECT_GT(200 + 800 * found.demanded({0.9, 0.8, 0.8}, 0.7), 960);
}

TEST(SolveActivity, NeverBelowZero) {
  // Power falls with compute here; no unit draws less than nothing.
  std::vector<ActivityReading> all;
  for (const double compute : {0.1, 0.5, 0.9})
    all.push_back({{compute, 0.1, 0.1}, 700 - 300 * compute, 200, 800, 980, 1});
  const ActivityShares found = solve_activity(all, 1, {0.1, 0.1, 0.1}, 1e-6);
  EXPECT_EQ(found.compute, 0);
  EXPECT_GE(found.fixed, 0);
  EXPECT_GE(found.memory, kMemoryChips);
}

TEST(SolveActivity, FewReadingsStayNearThePrior) {
  const std::vector<ActivityReading> one = {{{0.5, 0.5, 0.5}, 900, 200, 800, 980, 1}};
  const ActivityShares prior{0.1, 0.2, 0.2};
  const ActivityShares held = solve_activity(one, 0.7, prior, 1e6);
  EXPECT_NEAR(held.compute, prior.compute, 0.01);
}

}  // namespace activity_solver_test
}  // namespace orrery
