// Do plans speculate where it pays, and only there?
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
#include "orrery/planner/space/space.h"
#include "orrery/scenario/document/scenario_json.h"
#include "orrery/scenario/document/scenario_sweep.h"
#include "orrery/scenario/kinds/service/service_question.h"
#include "tests/unit/planner/simulated_rate.h"

namespace orrery {
namespace speculation_plan_test {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

Scenario question(const std::string& drafter, const std::string& slo, const std::string& plan,
                  double rate = 2) {
  const std::string text = fmt::format(
      "model: llama-3-8b\ncost: {{price: 2}}\nload: {{rate: {}, requests: 150, isl: 512, osl: "
      "64}}\n"
      "slo: {}\nspeculation: {}\nplan: {{gpu: [h100-sxm], tp: [1, 2], pp: [1]{}}}",
      rate, slo, drafter, plan);
  return read_scenario(all_kinds(), parse_yaml(text, "plan")).points.front();
}

std::string draft_model(double acceptance) {
  return fmt::format("{{method: draft_model, model: llama-3.2-1b, tokens: 4, acceptance: {}}}",
                     acceptance);
}

Plans plans(const Scenario& asked) {
  Runner runner{Bundle()};
  return find_plans(runner, asked);
}

std::vector<std::string> names(const Scenario& asked) {
  std::vector<std::string> out;
  try {
    for (const FleetPlan& f : plans(asked).fleets) out.push_back(f.name());
  } catch (const Infeasible&) {
  }
  return out;
}

bool speculates(const FleetPlan& f) { return f.engine.speculation.on(); }

TEST(SpeculationPlans, TryEveryEngineWithItsDrafterAndWithout) {
  const Scenario asked = question(draft_model(0.7), "{tpot: 30 ms}", ", engines: [vllm, sglang]");
  const Scenario plain = question("{method: none}", "{tpot: 30 ms}", ", engines: [vllm, sglang]");
  Runner runner{Bundle()};
  const Architecture& model = runner.architecture("llama-3-8b");
  std::size_t with = 0;
  const auto options = engine_options(asked, runner.catalog(), model);
  for (const EngineOption& o : options) {
    const auto& service = o.asked(asked).as<PlanQuestion>().service;
    EXPECT_EQ(service.speculation.on(), o.speculation.on()) << o.name();
    with += o.speculation.on() ? 1 : 0;
  }
  EXPECT_EQ(2 * with, options.size());
  EXPECT_EQ(with, engine_options(plain, runner.catalog(), model).size());
  EXPECT_FALSE(to_json(plain).contains("speculation"));
  EXPECT_EQ(to_json(asked)["speculation"]["model"], "llama-3.2-1b");
}

// The bound is never below what a simulation finds, with chains, trees, spread and look-up.
TEST(SpeculationBound, IsAboveTheSimulatedRate) {
  constexpr const char* kSteps = "{tpot: 10 ms, ttft: 500 ms}";
  for (const auto& [drafter, slo] :
       {std::pair<std::string, const char*>{draft_model(0.9), kSteps},
        {draft_model(0.05), "{e2e: 1 s}"},
        {"{method: ngram, tokens: 3, acceptance: 0.6, spread: 0.5}", kSteps},
        {"{method: eagle, tokens: 3, tree_tokens: 12, acceptance: [0.9, 0.8]}", "{e2e: 1 s}"}}) {
    const Scenario asked = question(drafter, slo, "");
    Runner runner{Bundle()};
    std::vector<std::string> notes;
    const PlannedLoad load = planned_load(asked.as<PlanQuestion>().service, notes);
    for (const EngineOption& o :
         engine_options(asked, runner.catalog(), runner.architecture("llama-3-8b"))) {
      if (!o.speculation.on()) continue;
      const EngineBound bound = engine_bound(runner, asked, o, load);
      ASSERT_EQ(bound.misfit, "");
      const double rate = simulated_rate(runner, asked, o, 500);
      EXPECT_LE(rate, bound.most()) << o.name() << " " << slo << drafter;
      EXPECT_GT(rate, 0.02 * bound.most()) << o.name() << " " << slo << drafter;
    }
  }
}

// A time between tokens that the engine alone cannot keep is kept with a good drafter.
TEST(SpeculationPlans, WinWithAGoodDrafterAndLoseWithABadOne) {
  const std::string one = ", objective: throughput, gpus: 1, top: 2";
  const std::string slo = "{tpot: 7 ms}";
  const Plans good = plans(question(draft_model(0.9), slo, one));
  EXPECT_TRUE(speculates(good.fleets.at(0)));
  EXPECT_EQ(good.answer.points.at(0).at.at("speculation"), "draft_model");
  const Plans bad = plans(question(draft_model(0.05), slo, one));
  EXPECT_FALSE(speculates(bad.fleets.at(0)));
  EXPECT_FALSE(bad.answer.points.at(0).at.contains("speculation"));
  const Plans none = plans(question("{method: none}", slo, one));
  EXPECT_EQ(bad.fleets.at(0).name(), none.fleets.at(0).name());
  EXPECT_GT(good.rates.at(0), 1.05 * none.rates.at(0));
}

TEST(SpeculationPlans, ArePrunedExactly) {
  for (const double acceptance : {0.9, 0.3}) {
    for (const char* slo : {"{tpot: 6 ms}", "{tpot: 30 ms, ttft: 300 ms}"}) {
      for (const char* objective : {"", ", objective: throughput, gpus: 2"}) {
        const std::string plan = std::string(objective) + ", top: 6";
        EXPECT_EQ(names(question(draft_model(acceptance), slo, plan, 12)),
                  names(question(draft_model(acceptance), slo, plan + ", exhaustive: true", 12)))
            << acceptance << slo << objective;
      }
    }
  }
}

// A draft model has no place in an engine with pipeline stages.
TEST(SpeculationPlans, LeaveOutEnginesThatTheDrafterDoesNotFit) {
  Runner runner{Bundle()};
  const Scenario asked = question(draft_model(0.7), "{tpot: 30 ms}", "");
  std::vector<std::string> notes;
  const PlannedLoad load = planned_load(asked.as<PlanQuestion>().service, notes);
  EngineOption o{{"h100-sxm", 0}, "vllm", "", {.tp = 1, .pp = 2}};
  EXPECT_EQ(engine_bound(runner, asked, o, load).misfit, "");
  o.speculation = asked.as<PlanQuestion>().service.speculation;
  EXPECT_THAT(engine_bound(runner, asked, o, load).misfit, HasSubstr("pipeline stages"));
  EXPECT_THROW(plans(question("{method: draft_model}", "{tpot: 30 ms}", "")), InputError);
}

TEST(SpeculationPlans, AreWrittenWithTheirDrafter) {
  const Scenario asked = question(draft_model(0.9), "{tpot: 30 ms}", ", top: 4");
  const Plans found = plans(asked);
  const Bundle bundle;
  const auto files = plan_files(bundle, found);
  std::size_t with = 0, without = 0;
  for (std::size_t i = 0; i < found.fleets.size(); ++i) {
    const bool on = speculates(found.fleets[i]);
    (on ? with : without) += 1;
    for (const auto& [path, text] : files) {
      if (path == fmt::format("{}/scenario.json", i + 1)) {
        const Scenario back = read_scenario(all_kinds(), parse_yaml(text, path)).points.front();
        EXPECT_EQ(back.as<ServiceQuestion>().speculation.on(), on);
      } else if (path == fmt::format("{}/launch.sh", i + 1)) {
        EXPECT_EQ(text.find("--speculative-config") != text.npos, on) << text;
      }
    }
  }
  EXPECT_GT(with, 0U);
  EXPECT_GT(without, 0U);
}

TEST(SpeculationLaunch, HasTheFlagsOfTheEngine) {
  const Bundle bundle;
  EngineOption o{{"h100-sxm", 0}, "vllm", ""};
  o.speculation.method = "draft_model", o.speculation.model = "org/draft", o.speculation.tokens = 5;
  const auto launch = [&] { return launch_command(bundle, o, EngineRole::kBoth, "org/model", 0); };
  const auto config = nlohmann::json::parse(shell_words(launch().command).back());
  EXPECT_EQ(config["method"], "draft_model");
  EXPECT_EQ(config["model"], "org/draft");
  EXPECT_EQ(config["num_speculative_tokens"], 5);
  EXPECT_EQ(read_launch(bundle, launch().command).option.speculation.model, "org/draft");
  o.engine = "sglang";
  EXPECT_THAT(
      launch().command,
      EndsWith("--speculative-algorithm STANDALONE --speculative-draft-model-path org/draft "
               "--speculative-num-steps 5 --speculative-eagle-topk 1 "
               "--speculative-num-draft-tokens 6"));
  o.layout.tp = 1, o.layout.dp = 2, o.layout.ep = 2;
  EXPECT_THAT(launch().refused, HasSubstr("data-parallel attention"));
  o.layout.dp = o.layout.ep = 1;
  o.speculation.tree_tokens = 10;
  EXPECT_THAT(launch().refused, HasSubstr("a tree of drafts"));
  o.speculation.tree_tokens = 0;
  o.engine = "trtllm";
  EXPECT_THAT(launch().command, EndsWith("--extra_llm_api_options options.yaml"));
  EXPECT_EQ(launch().options,
            "disable_overlap_scheduler: true\nspeculative_config: {decoding_type: DraftTarget, "
            "max_draft_len: 5, speculative_model: org/draft}\n");
  o.engine = "sglang", o.speculation.model = "";
  EXPECT_THAT(launch().refused, HasSubstr("does not name the draft model"));
  o.speculation.method = "medusa";
  EXPECT_EQ(launch().command, "");
  EXPECT_THAT(launch().refused,
              AllOf(HasSubstr("no flags of sglang"), HasSubstr("speculation by medusa")));
}

}  // namespace speculation_plan_test
}  // namespace orrery
