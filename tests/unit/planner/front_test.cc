// Does a front have the best plan of each limit, and none that another one beats?
#include "orrery/planner/answer/front.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "orrery/base/error.h"
#include "orrery/base/node.h"
#include "orrery/kinds/all_kinds.h"
#include "orrery/planner/answer/planner.h"
#include "orrery/planner/emit/plan_files.h"
#include "orrery/planner/question/plan_question.h"
#include "orrery/scenario/document/scenario_json.h"
#include "orrery/scenario/document/scenario_sweep.h"

namespace orrery {
namespace front_test {

using ::testing::HasSubstr;

Scenario asked(const std::string& plan, const std::string& slo = "{tpot: 30 ms, ttft: 1 s}") {
  return read_scenario(
             all_kinds(),
             parse_yaml(fmt::format("model: llama-3-8b\ncost: {{price: 2}}\nload: {{rate: 20, "
                                    "requests: 150, isl: 512, osl: 64}}\nslo: {}\n"
                                    "plan: {{gpu: [h100-sxm, l40s], tp: [1, 2], pp: [1], {}}}",
                                    slo, plan),
                        "plan"))
      .points.front();
}

Plans front_of(const Scenario& question) {
  Runner runner{Bundle()};
  return find_plans(runner, question);
}

double figure(const Plans& plans, std::size_t plan, const char* metric) {
  return plans.answer.points.at(plan).find(metric)->value;
}

// The question of a plan of the front without bounds, and with one plan.
Scenario alone(const Scenario& of_front) {
  Scenario s = of_front;
  PlanChoice& choice = s.ask<PlanQuestion>().choice;
  choice.front.clear();
  choice.top = 1, choice.exhaustive = true;
  return s;
}

TEST(Front, HasTheBestPlanOfEachLimit) {
  const Plans front = front_of(asked("objective: cost, front: tpot"));
  ASSERT_GE(front.fleets.size(), 2U);
  for (std::size_t i = 0; i < front.fleets.size(); ++i) {
    const Plans own = front_of(alone(front.questions[i]));
    EXPECT_EQ(front.fleets[i].name(), own.fleets.at(0).name());
    EXPECT_DOUBLE_EQ(figure(front, i, "tpot_p99"), figure(own, 0, "tpot_p99"));
    EXPECT_DOUBLE_EQ(figure(front, i, "chance"), figure(own, 0, "chance"));
    if (i == 0) continue;
    EXPECT_GT(figure(front, i, "cost_per_hour"), figure(front, i - 1, "cost_per_hour"));
    EXPECT_LT(figure(front, i, "tpot_p99"), figure(front, i - 1, "tpot_p99"));
  }
}

// Nothing keeps half of the last limit, or half of what the last plan does.
TEST(Front, EndsWhereNothingKeepsTheLimit) {
  const Plans front = front_of(asked("objective: cost, front: tpot"));
  Scenario below = alone(front.questions.back());
  Seconds& limit = below.ask<PlanQuestion>().service.slo.tpot;
  // The last plan may keep a few limits that are smaller by less, with a smaller chance.
  limit = 0.5 * std::min(limit, milliseconds(figure(front, front.fleets.size() - 1, "tpot_p99")));
  EXPECT_THROW(front_of(below), Infeasible);
}

TEST(Front, OfALatencyWithoutALimitBeginsWithoutOne) {
  const Plans front = front_of(asked("objective: cost, front: tpot", "{ttft: 1 s}"));
  EXPECT_FALSE(front.answer.points.at(0).at.contains("slo_tpot"));
  EXPECT_EQ(front.questions.at(0).as<PlanQuestion>().service.slo.tpot, Seconds(0));
  ASSERT_GE(front.fleets.size(), 2U);
  EXPECT_TRUE(front.answer.points.at(1).at.contains("slo_tpot"));
}

TEST(Front, OfTheRateHasLowerRatesForTighterLimits) {
  const Plans front =
      front_of(asked("objective: throughput, gpus: 1, front: tpot", "{tpot: 16 ms}"));
  ASSERT_GE(front.fleets.size(), 3U);
  for (std::size_t i = 1; i < front.fleets.size(); ++i) {
    EXPECT_LT(front.rates[i], front.rates[i - 1]);
    EXPECT_LT(figure(front, i, "tpot_p99"), figure(front, i - 1, "tpot_p99"));
  }
  // A search of its own for a limit, without what the other limits have shown, has the same rate.
  for (const std::size_t i : {std::size_t{0}, front.fleets.size() / 2, front.fleets.size() - 1}) {
    const Plans own = front_of(alone(front.questions[i]));
    EXPECT_EQ(front.fleets[i].name(), own.fleets.at(0).name());
    EXPECT_DOUBLE_EQ(front.rates[i], own.rates.at(0));
  }
}

TEST(Front, IsWhatParetoAsksOfAService) {
  const Plans named = front_of(asked("objective: cost, front: tpot"));
  const Plans pareto = front_of(asked("objective: pareto"));
  EXPECT_EQ(to_json(named.answer, false), to_json(pareto.answer, false));
}

TEST(Front, RefusesWhatHasNoMeaningForIt) {
  for (const char* plan :
       {"front: tpot, explain: true", "front: ttft, robust: [\"load:20%\"]",
        "front: e2e, day: [5, 10]", "objective: pareto, top: 5", "front: tpot, mixed: true"})
    EXPECT_THROW(front_of(asked(plan)), InputError) << plan;
}

// A table has a line for each plan; what is left out is counted as the notes do.
TEST(Front, IsWrittenAsATable) {
  const Plans front = front_of(asked("objective: cost, front: tpot"));
  std::string table, rejected;
  for (const auto& [path, text] : plan_files(Bundle(), front)) {
    if (path == "pareto.csv") table = text;
    if (path == "rejected.csv") rejected = text;
  }
  EXPECT_EQ(static_cast<std::size_t>(std::count(table.begin(), table.end(), '\n')),
            front.fleets.size() + 1);
  EXPECT_THAT(table,
              HasSubstr(fmt::format("\"{}\",{},", front.fleets[0].name(), front.fleets[0].gpus())));
  for (const auto& [reason, n] : front.rejected)
    EXPECT_THAT(rejected, HasSubstr(fmt::format("{},\"{}\"", n, reason)));
}

// The percentile of the limits is that of the answer, of the table and of the closest limit.
TEST(Front, HasThePercentileOfItsLimits) {
  const Plans front =
      front_of(asked("objective: cost, front: tpot",
                     "{tpot: 30 ms, ttft: 1 s, percentile: 95, ttft_percentile: 80}"));
  ASSERT_GE(front.fleets.size(), 2U);
  for (std::size_t i = 1; i < front.fleets.size(); ++i) {
    EXPECT_LT(figure(front, i, "tpot_p95"), figure(front, i - 1, "tpot_p95"));
    EXPECT_LT(figure(front, i, "tpot_p95"), figure(front, i, "tpot_p99"));
  }
  EXPECT_THAT(front.answer.points.at(0).notes,
              ::testing::Contains(::testing::AnyOf(HasSubstr("closest limit: tpot_p95"),
                                                   HasSubstr("closest limit: ttft_p80"))));
  for (const auto& [path, text] : plan_files(Bundle(), front)) {
    if (path != "pareto.csv") continue;
    EXPECT_THAT(text, HasSubstr(",ttft_p80_ms,tpot_p95_ms,e2e_p95_ms,"));
    EXPECT_THAT(text, ::testing::Not(HasSubstr("p99")));
  }
}

}  // namespace front_test
}  // namespace orrery
