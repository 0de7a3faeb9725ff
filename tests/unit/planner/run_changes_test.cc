// Do plans of runs tell what a day less costs, and the price of another GPU, by their definitions?
#include "orrery/planner/runs/run_changes.h"
#include "orrery/planner/question/plan_question.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery {
namespace run_changes_test {

RatedRun rated(const std::string& gpu, std::int64_t gpus, double days, double usd) {
  RatedRun r;
  r.plan.gpu.gpu = gpu;
  r.plan.layout.gpus = gpus;
  r.run.total = Seconds(days * 86400);
  r.run.usd = usd;
  return r;
}

TEST(RunChanges, AreOfTheBestOfEachSize) {
  RunSearch search;
  const RatedRun best = rated("a", 64, 20, 1000);
  search.best = {{best},
                 {rated("a", 128, 10.5, 1095)},
                 {rated("a", 256, 6, 1400)},
                 {rated("b", 32, 30, 1500)},   // 23,040 GPU-hours
                 {rated("b", 64, 14, 1400)}};  // 21,504
  const auto all = run_changes(PlanObjective::kCost, search, best);
  ASSERT_EQ(all.size(), 2U);
  // 128 of a: 9.5 days sooner for 95 USD more.
  EXPECT_THAT(all[0], testing::AllOf(testing::StartsWith("with plan.by below 20 days: 128 a"),
                                     testing::EndsWith("9.5 days sooner, 10 USD for each day")));
  // 1,000 USD over 21,504 GPU-hours.
  EXPECT_THAT(all[1], testing::AllOf(testing::StartsWith("with b alone: 64 b"),
                                     testing::EndsWith("0.0465 USD for a GPU-hour")));
  EXPECT_TRUE(run_changes(PlanObjective::kTime, search, best).empty());
}

TEST(RunChanges, OfShortRunsAreByTheHour) {
  RunSearch search;
  const RatedRun best = rated("a", 1, 0.5, 10);
  search.best = {{best}, {rated("a", 2, 0.25, 10.6)}};
  EXPECT_THAT(run_changes(PlanObjective::kCost, search, best).at(0),
              testing::EndsWith("6 hours sooner, 0.1 USD for each hour"));
}

}  // namespace run_changes_test
}  // namespace orrery
