// Are engines planned whose ranks divide the KV caches of which they would hold copies?
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "orrery/base/error.h"
#include "orrery/base/node.h"
#include "orrery/kinds/all_kinds.h"
#include "orrery/planner/answer/planner.h"
#include "orrery/planner/bound/engine_bound.h"
#include "orrery/planner/emit/launch.h"
#include "orrery/planner/emit/launch_reader.h"
#include "orrery/planner/emit/plan_files.h"
#include "orrery/planner/question/plan_question.h"
#include "orrery/planner/search/first_stage.h"
#include "orrery/scenario/document/scenario_json.h"
#include "orrery/scenario/document/scenario_sweep.h"
#include "tests/unit/planner/simulated_rate.h"

namespace orrery {
namespace context_plan_test {

using ::testing::HasSubstr;

// GLM-4-9B has 2 key-value heads, so that memory for long prompts is wasted on copies at tp 8.
Scenario question(const std::string& plan, const std::string& slo = "{tpot: 40 ms}",
                  double rate = 1) {
  const std::string text = fmt::format(
      "model: glm-4-9b\ncost: {{price: 2}}\nload: {{rate: {}, requests: 100, isl: 30000, osl: "
      "100}}\nslo: {}\nplan: {{gpu: [l40s], pp: [1]{}}}",
      rate, slo, plan);
  return read_scenario(all_kinds(), parse_yaml(text, "plan")).points.front();
}

FirstStage stage(const Scenario& asked) {
  Runner runner{Bundle()};
  std::vector<std::string> notes;
  const PlannedLoad load = planned_load(asked.as<PlanQuestion>().service, notes);
  SearchContext context;
  return first_stage(runner, asked, load, context);
}

TEST(ContextPlans, AreTriedWhereThePlanListsThem) {
  for (const RatedOption& o : stage(question(", tp: [4, 8]")).options)
    EXPECT_EQ(o.option.layout.cp, 1) << o.option.name();
  const FirstStage listed = stage(question(", tp: [2, 4, 8], cp: [1, 2, 4, 8]"));
  std::vector<std::string> layouts;
  for (const RatedOption& o : listed.options)
    layouts.push_back(fmt::format("{}/{}", o.option.layout.tp, o.option.layout.cp));
  EXPECT_THAT(layouts, ::testing::UnorderedElementsAre("2/1", "4/1", "8/1", "4/2", "8/2", "8/4"));
  EXPECT_EQ(listed.rejected.at("the layout breaks a rule of the model"), 3);
  EXPECT_THROW(
      read_scenario(all_kinds(), parse_yaml("model: glm-4-9b\nload: {rate: 1}\nslo: {tpot: 1 s}\n"
                                            "parallel: {cp: 2}\nplan: {gpu: [l40s]}",
                                            "plan")),
      InputError);
}

TEST(ContextBound, IsAboveTheSimulatedRate) {
  for (const char* slo : {"{tpot: 100 ms}", "{tpot: 300 ms, ttft: 60 s}"}) {
    const Scenario asked = question(", tp: [8], cp: [1, 4]", slo);
    Runner runner{Bundle()};
    for (const RatedOption& o : stage(asked).options)
      EXPECT_LE(simulated_rate(runner, asked, o.option, 100), o.bound.most())
          << o.option.name() << slo;
  }
}

TEST(ContextPlans, ArePrunedExactly) {
  const auto names = [](const std::string& plan) {
    Runner runner{Bundle()};
    std::vector<std::string> out;
    for (const FleetPlan& f : find_plans(runner, question(plan, "{tpot: 60 ms}")).fleets)
      out.push_back(f.name());
    return out;
  };
  for (const char* objective : {"", ", objective: throughput, gpus: 8"}) {
    const std::string plan = std::string(", tp: [4, 8], cp: [1, 2, 4], top: 6") + objective;
    EXPECT_EQ(names(plan), names(plan + ", exhaustive: true")) << objective;
  }
}

TEST(ContextPlans, AreStartedWithTheFlagOfTheEngine) {
  const Bundle bundle;
  const Scenario asked = question(", tp: [8], cp: [4], engines: [vllm, sglang, trtllm]");
  for (const RatedOption& o : stage(asked).options) {
    const LaunchCommand c = launch_command(bundle, o.option, EngineRole::kBoth, "org/model", 0);
    if (o.option.engine == "trtllm") {
      EXPECT_THAT(c.refused, HasSubstr("no flag for decode context parallelism"));
      continue;
    }
    const bool vllm = o.option.engine == "vllm";
    EXPECT_THAT(c.command, HasSubstr(vllm ? "--decode-context-parallel-size 4" : "--dcp-size 4"));
    EXPECT_EQ(c.needs.find("latent attention") != c.needs.npos, !vllm);
    const LaunchRead back = read_launch(bundle, c.command);
    EngineOption got = back.option;
    got.gpu = o.option.gpu;
    EXPECT_TRUE(back.unread.empty());
    EXPECT_EQ(to_json(got.asked(asked)), to_json(o.option.asked(asked)));
  }
  EXPECT_EQ(read_launch(bundle, "vllm serve m -tp 8 -dcp 2").option.layout.cp, 2);
}

// Eight ranks of DeepSeek-R1 hold copies of each latent: more long requests fit where they divide
// them.
TEST(ContextPlans, ServeMoreLongRequests) {
  const Scenario asked =
      read_scenario(
          all_kinds(),
          parse_yaml("model: deepseek-r1\nload: {rate: 1, requests: 200, isl: 60000, osl: 2000}\n"
                     "slo: {ttft: 30 s, tpot: 300 ms}\nplan: {gpu: [h200-sxm], tp: [8], pp: [1], "
                     "dp: [1], cp: [1, 8], objective: throughput, gpus: 8, top: 4}",
                     "plan"))
          .points.front();
  Runner runner{Bundle()};
  const Plans plans = find_plans(runner, asked);
  double divided = 0, whole = 0;
  for (std::size_t i = 0; i < plans.fleets.size(); ++i) {
    const int cp = plans.fleets[i].engine.layout.cp;
    double& best = cp == 8 ? divided : whole;
    best = std::max(best, plans.rates[i]);
    EXPECT_EQ(plans.answer.points[i].at.contains("cp"), cp == 8);
  }
  EXPECT_GT(whole, 0);
  EXPECT_GT(divided, 1.5 * whole);
  for (const auto& [path, text] : plan_files(Bundle(), plans)) {
    if (!path.ends_with("scenario.json")) continue;
    const Scenario back = read_scenario(all_kinds(), parse_yaml(text, path)).points.front();
    const auto i = static_cast<std::size_t>(path[0] - '1');
    EXPECT_EQ(back.parallel.cp, plans.fleets.at(i).engine.layout.cp);
  }
}

}  // namespace context_plan_test
}  // namespace orrery
