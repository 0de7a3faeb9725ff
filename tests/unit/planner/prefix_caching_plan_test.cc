// Are engines planned with and without their prefix caches where prompts begin alike?
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "orrery/base/error.h"
#include "orrery/base/node.h"
#include "orrery/kinds/all_kinds.h"
#include "orrery/planner/answer/planner.h"
#include "orrery/planner/bound/engine_bound.h"
#include "orrery/planner/emit/plan_files.h"
#include "orrery/planner/question/plan_question.h"
#include "orrery/planner/search/first_stage.h"
#include "orrery/scenario/document/scenario_sweep.h"
#include "tests/unit/planner/simulated_rate.h"

namespace orrery {
namespace prefix_caching_plan_test {

using ::testing::HasSubstr;

constexpr const char* kShared = "isl: 2100, shared_prefix: 2048";

Scenario question(const std::string& prompts, const std::string& slo, const std::string& plan,
                  double rate = 4, const std::string& tp = "1, 2") {
  const std::string text = fmt::format(
      "model: llama-3-8b\ncost: {{price: 2}}\nload: {{rate: {}, requests: 150, osl: 32, {}}}\n"
      "slo: {}\nplan: {{gpu: [h100-sxm], tp: [{}], pp: [1]{}}}",
      rate, prompts, slo, tp, plan);
  return read_scenario(all_kinds(), parse_yaml(text, "plan")).points.front();
}

std::vector<RatedOption> first_options(const Scenario& asked) {
  Runner runner{Bundle()};
  std::vector<std::string> notes;
  const PlannedLoad load = planned_load(asked.as<PlanQuestion>().service, notes);
  SearchContext context;
  return first_stage(runner, asked, load, context).options;
}

std::size_t without_cache(const std::vector<RatedOption>& options) {
  return static_cast<std::size_t>(
      std::count_if(options.begin(), options.end(),
                    [](const RatedOption& o) { return !o.option.prefix_caching; }));
}

TEST(PrefixCachingPlans, TryBothWherePromptsBeginAlike) {
  const std::string slo = "{ttft: 5 s}";
  const auto shared = first_options(question(kShared, slo, ""));
  EXPECT_EQ(2 * without_cache(shared), shared.size());
  const auto turns = first_options(question("isl: 500, turns: 3", slo, ""));
  EXPECT_EQ(2 * without_cache(turns), turns.size());
  const auto alone = first_options(question("isl: 2100", slo, ""));
  EXPECT_EQ(without_cache(alone), 0U);
  EXPECT_EQ(2 * alone.size(), shared.size());
  // The engine of 2024 has no prefix cache by itself.
  EXPECT_EQ(without_cache(first_options(question(kShared, slo, ", engines: [vllm-2024]"))), 0U);
  const auto off = first_options(question(kShared, slo, ", prefix_caching: [\"off\"]"));
  EXPECT_EQ(without_cache(off), off.size());
  EXPECT_THROW(question(kShared, slo, ", prefix_caching: [both]"), InputError);
}

TEST(PrefixCachingBound, IsAboveTheSimulatedRate) {
  for (const char* slo : {"{ttft: 500 ms}", "{tpot: 20 ms, ttft: 2 s}"}) {
    const Scenario asked = question(kShared, slo, "", 4, "1");
    Runner runner{Bundle()};
    double rates[2] = {0, 0};
    for (const RatedOption& o : first_options(asked)) {
      const double rate = simulated_rate(runner, asked, o.option, 1000);
      EXPECT_LE(rate, o.bound.most()) << o.option.name() << slo;
      rates[o.option.prefix_caching ? 1 : 0] = rate;
      // Without a cache the bound counts the prompts.
      EXPECT_EQ(o.bound.prefill < 1000, !o.option.prefix_caching);
    }
    EXPECT_GT(rates[1], 2 * rates[0]);
  }
}

std::vector<std::string> names(const Scenario& asked) {
  Runner runner{Bundle()};
  std::vector<std::string> out;
  for (const FleetPlan& f : find_plans(runner, asked).fleets) out.push_back(f.name());
  return out;
}

TEST(PrefixCachingPlans, ArePrunedExactly) {
  for (const auto& [slo, objective] : {std::pair{"{ttft: 400 ms}", ""},
                                       {"{tpot: 15 ms, ttft: 1 s}", ""},
                                       {"{ttft: 400 ms}", ", objective: throughput, gpus: 2"}}) {
    const std::string plan = std::string(objective) + ", top: 6";
    EXPECT_EQ(names(question(kShared, slo, plan, 20)),
              names(question(kShared, slo, plan + ", exhaustive: true", 20)))
        << slo << objective;
  }
}

// The cache saves engines; where it saves none the engine as it is comes first.
TEST(PrefixCachingPlans, SayWhatTheCacheIsWorth) {
  Runner runner{Bundle()};
  const Plans busy = find_plans(runner, question(kShared, "{ttft: 400 ms}", "", 60, "1"));
  ASSERT_EQ(busy.fleets.size(), 2U);
  EXPECT_TRUE(busy.fleets[0].engine.prefix_caching);
  EXPECT_LT(busy.fleets[0].engines, busy.fleets[1].engines);
  EXPECT_FALSE(busy.answer.points[0].at.contains("prefix_caching"));
  EXPECT_EQ(busy.answer.points[1].at.at("prefix_caching"), "off");
  const Plans idle = find_plans(runner, question(kShared, "{ttft: 2 s}", "", 1, "1"));
  EXPECT_TRUE(idle.fleets.at(0).engine.prefix_caching);
  for (const auto& [path, text] : plan_files(Bundle(), busy)) {
    const bool off = path.starts_with("2/");
    if (path.ends_with("launch.sh")) {
      EXPECT_EQ(text.find("--no-enable-prefix-caching") != text.npos, off) << text;
    } else if (path.ends_with("scenario.json")) {
      const Scenario back = read_scenario(all_kinds(), parse_yaml(text, path)).points.front();
      const Node* scheduler = back.engine.overrides.find("scheduler");
      EXPECT_EQ(scheduler != nullptr && !scheduler->at("prefix_caching").as_bool(), off) << text;
    }
  }
}

// Kubernetes gets the file of options of TensorRT-LLM as a volume.
TEST(PrefixCachingPlans, AreMountedWhereAFileTellsThem) {
  Runner runner{Bundle()};
  const Plans plans = find_plans(
      runner,
      question(kShared, "{ttft: 2 s}", ", engines: [trtllm], prefix_caching: [\"off\"]", 1, "1"));
  std::string pods, options;
  for (const auto& [path, text] : plan_files(Bundle(), plans)) {
    if (path == "1/kubernetes.yaml") pods = text;
    if (path == "1/options.yaml") options = text;
  }
  EXPECT_EQ(options, "kv_cache_config: {enable_block_reuse: false}\n");
  EXPECT_THAT(pods, HasSubstr("workingDir: /plan"));
  EXPECT_THAT(pods, HasSubstr("volumes: [{name: options, configMap: {name: orrery-plan}}]"));
  EXPECT_THAT(pods, HasSubstr("kind: ConfigMap\nmetadata: {name: orrery-plan}\ndata:\n  "
                              "options.yaml: " +
                              nlohmann::json(options).dump()));
}

}  // namespace prefix_caching_plan_test
}  // namespace orrery
