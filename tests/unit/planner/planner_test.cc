// Are plans the best that the space has, and do they answer the question?
#include "orrery/planner/answer/planner.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/base/node.h"
#include "orrery/kinds/all_kinds.h"
#include "orrery/planner/bound/engine_bound.h"
#include "orrery/planner/emit/launch.h"
#include "orrery/planner/emit/plan_files.h"
#include "orrery/planner/emit/platforms.h"
#include "orrery/planner/question/plan_question.h"
#include "orrery/planner/space/space.h"
#include "orrery/scenario/document/scenario_json.h"
#include "orrery/scenario/document/scenario_sweep.h"
#include "tests/unit/planner/simulated_rate.h"

namespace orrery {
namespace planner_test {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

struct Asked {
  std::string gpu = "h100-sxm", slo = "{tpot: 30 ms, ttft: 1 s}", extra;
  double rate = 6, price = 2;

  Scenario scenario() const {
    return read_scenario(
               all_kinds(),
               parse_yaml(
                   fmt::format("model: llama-3-8b\ncost: {{price: {}}}\nload: {{rate: {}, "
                               "requests: 150, isl: 512, osl: 64}}\nslo: {}\nplan: {{gpu: [{}], "
                               "tp: [1, 2], pp: [1]{}}}",
                               price, rate, slo, gpu, extra),
                   "plan"))
        .points.front();
  }
  Plans plans() const {
    Runner runner{Bundle()};
    return find_plans(runner, scenario());
  }
};

double hour(const Plans& plans) { return plans.answer.points.at(0).find("cost_per_hour")->value; }

std::vector<std::string> names(const Plans& plans) {
  std::vector<std::string> out;
  for (const FleetPlan& f : plans.fleets) out.push_back(f.name());
  return out;
}

TEST(GpuStock, IsATypeWithOrWithoutANumber) {
  EXPECT_EQ(GpuStock::parse("h100-sxm").gpus, 0);
  EXPECT_EQ(GpuStock::parse("h200-sxm:64").gpu, "h200-sxm");
  EXPECT_EQ(GpuStock::parse("h200-sxm:64").gpus, 64);
  for (const char* bad : {"h100-sxm:", "h100-sxm:0", "h100-sxm:4x", "h100-sxm:-1"})
    EXPECT_THROW(GpuStock::parse(bad), InputError) << bad;
}

TEST(EngineOptions, AreThePowersOfTwoOfANode) {
  const Scenario s =
      read_scenario(all_kinds(), parse_yaml("model: llama-3-8b\nload: {rate: 1}\nslo: {tpot: 1 "
                                            "s}\nplan: {gpu: [\"h100-sxm:4\"]}",
                                            "plan"))
          .points.front();
  Runner runner{Bundle()};
  std::vector<std::string> layouts;
  for (const EngineOption& o :
       engine_options(s, runner.catalog(), runner.architecture("llama-3-8b")))
    layouts.push_back(fmt::format("{}x{}", o.layout.tp, o.layout.pp));
  EXPECT_THAT(layouts, testing::ElementsAre("1x1", "1x2", "1x4", "2x1", "2x2", "4x1"));
}

TEST(EngineOptions, OfExpertsDivideThemToo) {
  const Scenario s =
      read_scenario(all_kinds(), parse_yaml("model: mixtral-8x7b\nload: {rate: 1}\nslo: {tpot: 1 "
                                            "s}\nplan: {gpu: [h100-sxm], tp: [4], pp: [1]}",
                                            "plan"))
          .points.front();
  Runner runner{Bundle()};
  const auto options = engine_options(s, runner.catalog(), runner.architecture("mixtral-8x7b"));
  ASSERT_EQ(options.size(), 3U);
  EXPECT_EQ(options[1].layout.ep, 4);
  EXPECT_EQ(options[2].layout.dp, 4);
  for (const EngineOption& o : options) EXPECT_EQ(o.gpus(), 4);
}

// The bound is never below what a simulation finds.
TEST(EngineBound, IsAboveTheSimulatedRate) {
  constexpr const char* kLimits = ", max_num_seqs: [2, 16], max_num_batched_tokens: [1024]";
  for (const auto& [slo, extra] : {std::pair{"{tpot: 20 ms}", ""},
                                   {"{tpot: 40 ms, ttft: 500 ms}", ""},
                                   {"{e2e: 3 s}", ""},
                                   {"{tpot: 40 ms, ttft: 1 s}", kLimits}}) {
    Asked asked;
    asked.slo = slo, asked.extra = extra;
    const Scenario question = asked.scenario();
    Runner runner{Bundle()};
    std::vector<std::string> notes;
    const PlannedLoad load = planned_load(question.as<PlanQuestion>().service, notes);
    for (const EngineOption& o :
         engine_options(question, runner.catalog(), runner.architecture("llama-3-8b"))) {
      const EngineBound bound = engine_bound(runner, question, o, load);
      ASSERT_EQ(bound.misfit, "");
      const double rate = simulated_rate(runner, question, o, 2000);
      EXPECT_LE(rate, bound.most()) << o.name() << " " << slo;
      EXPECT_GT(rate, 0.2 * bound.most()) << o.name() << " " << slo;  // and says something
    }
  }
}

std::vector<std::string> found(Asked asked, const std::string& more) {
  asked.extra += more;
  try {
    return names(asked.plans());
  } catch (const Infeasible&) {
    return {"none"};
  }
}

// Leaving options out by their bounds changes nothing. Every seventh of 81 questions is asked.
TEST(Plans, ArePrunedExactly) {
  constexpr const char* kLimits[] = {"{tpot: 12 ms}", "{tpot: 30 ms, ttft: 300 ms}",
                                     "{e2e: 2 s, percentile: 90}"};
  constexpr const char* kGpus[] = {"h100-sxm", "l40s, h100-sxm", "a100-80g-sxm, l40s"};
  constexpr const char* kObjectives[] = {"", ", objective: gpus",
                                         ", objective: throughput, gpus: 4"};
  constexpr double kRates[] = {2, 9, 25};
  for (std::size_t i = 0; i < 81; i += 7) {
    Asked asked;
    asked.slo = kLimits[i % 3], asked.gpu = kGpus[i / 3 % 3];
    asked.extra = kObjectives[i / 9 % 3], asked.rate = kRates[i / 27];
    EXPECT_EQ(found(asked, ""), found(asked, ", exhaustive: true"))
        << asked.slo << asked.gpu << asked.extra << asked.rate;
  }
}

TEST(Plans, ArePrunedExactlyAmongLimitsOfSteps) {
  for (const char* objective : {"", ", objective: throughput, gpus: 2"}) {
    Asked asked;
    asked.extra = fmt::format(
        "{}, max_num_seqs: [4, 32], max_num_batched_tokens: [1024, 8192], top: 8", objective);
    EXPECT_EQ(found(asked, ""), found(asked, ", exhaustive: true")) << objective;
  }
}

// Few sequences at once keep a limit on the time of a step that more of them break, and serve less.
TEST(Plans, TradeSequencesAtOnceForTheirSpeed) {
  Asked asked;
  asked.slo = "{tpot: 40 ms}";
  const auto best = [&asked](const char* seqs) {
    asked.extra = fmt::format(", objective: throughput, gpus: 1, max_num_seqs: [{}], top: 1", seqs);
    return asked.plans();
  };
  const Plans few = best("4"), many = best("128"), both = best("4, 128");
  EXPECT_LT(few.rates.at(0), many.rates.at(0));
  EXPECT_EQ(names(both), names(many));
  EXPECT_EQ(both.answer.points.at(0).at.at("max_num_seqs"), 128);
  EXPECT_LT(few.answer.points.at(0).find("tpot_p50")->value,
            many.answer.points.at(0).find("tpot_p50")->value);
}

TEST(Plans, FollowPricesLimitsAndChoice) {
  Asked asked;
  asked.rate = 40;
  const Plans plans = asked.plans();
  Asked dear = asked;
  dear.price = 2 * asked.price;
  const Plans twice = dear.plans();
  EXPECT_EQ(names(twice), names(plans));
  EXPECT_NEAR(hour(twice), 2 * hour(plans), 1e-9);

  Asked looser = asked;
  looser.slo = "{tpot: 60 ms, ttft: 2 s}";
  EXPECT_LE(hour(looser.plans()), hour(plans));
  Asked wider = asked;
  wider.gpu = "h100-sxm, h200-sxm";
  EXPECT_LE(hour(wider.plans()), hour(plans));
  Asked spare = asked;
  spare.extra = ", spare: 1";
  EXPECT_GT(hour(spare.plans()), hour(plans));
}

// Energy is that of the plan's own simulation, and no plan of the space has less.
TEST(Plans, OfLeastEnergyAreInOrder) {
  Asked asked;
  asked.gpu = "h100-sxm, l40s";
  asked.extra = ", objective: energy, top: 4";
  const Plans plans = asked.plans();
  ASSERT_GE(plans.fleets.size(), 3U);
  const auto joules = [&plans](std::size_t i) {
    return plans.answer.points[i].find("energy_per_request")->value;
  };
  for (std::size_t i = 1; i < plans.fleets.size(); ++i) EXPECT_GE(joules(i), 0.95 * joules(i - 1));
}

TEST(Plans, ServeTheLoadWithinItsLimits) {
  Asked asked;
  asked.rate = 40;
  const Plans plans = asked.plans();
  Runner runner{Bundle()};
  for (std::size_t i = 0; i < plans.fleets.size(); ++i) {
    const Point& p = plans.answer.points[i];
    EXPECT_TRUE(p.meets_slo.value_or(false));
    EXPECT_THAT(p.notes, testing::Contains(HasSubstr("formats:")));  // what was assumed is said
    EXPECT_EQ(p.at.at("gpus"), plans.fleets[i].gpus());
    EXPECT_NEAR(p.find("cost_per_hour")->value,
                asked.price * static_cast<double>(plans.fleets[i].gpus()), 1e-6);
    EXPECT_GE(p.find("chance")->value, 0);
    EXPECT_GE(p.find("headroom")->value, 0);
  }
}

TEST(Plans, OfMoreThanThereIsAreRefused) {
  Asked asked;
  asked.gpu = "\"h100-sxm:1\"";
  asked.rate = 4000;
  EXPECT_THROW(asked.plans(), Infeasible);
  Asked idle;
  idle.slo = "{percentile: 99}";
  EXPECT_THROW(idle.plans(), InputError);  // no limit
  Asked slow;
  slow.slo = "{tpot: 10 us}";
  EXPECT_THROW(slow.plans(), Infeasible);
}

// Each plan's scenario reads back as what was simulated.
// The message with which a question is refused.
std::string refusal(const Asked& asked) {
  try {
    asked.plans();
  } catch (const Infeasible& e) {
    return e.what();
  }
  return "";
}

TEST(Plans, ThatAreImpossibleNameTheClosestAndWhatIsMissing) {
  Asked asked;
  asked.rate = 60;
  const Plans plans = asked.plans();
  const std::int64_t gpus = plans.fleets.at(0).gpus();
  ASSERT_GT(gpus, 1);
  // One GPU less than the best plan needs.
  Asked few = asked;
  few.extra = fmt::format(", objective: gpus, gpus: {}", gpus - 1);
  EXPECT_THAT(refusal(few),
              HasSubstr(fmt::format("it needs {} GPUs; plan.gpus is {}", gpus, gpus - 1)));
  Asked stock = asked;
  stock.gpu = fmt::format("\"h100-sxm:{}\"", gpus - 1);
  EXPECT_THAT(refusal(stock),
              HasSubstr(fmt::format("it needs {} h100-sxm; the stock is {}", gpus, gpus - 1)));
  // 2 USD an hour and GPU, 730 hours a month.
  Asked money = asked;
  money.extra = ", budget: 1000";
  EXPECT_THAT(refusal(money),
              HasSubstr(fmt::format("it costs {} USD a month; plan.budget is 1000", gpus * 1460)));
}

TEST(Plans, ThatBreakALimitSayByHowMuch) {
  Asked slow;
  slow.slo = "{tpot: 1 ms}";
  const std::string text = refusal(slow);
  EXPECT_THAT(text, AllOf(HasSubstr("a token of a request alone takes longer than the limits"),
                          HasSubstr("tp 2): tpot_p99 is "), HasSubstr("the limit of 1 ms")));
  // A limit just above the figure is kept by a plan.
  const std::size_t at = text.find("tpot_p99 is ") + 12;
  slow.slo = fmt::format("{{tpot: {:.3f} ms}}", 1.02 * std::stod(text.substr(at)));
  EXPECT_EQ(refusal(slow), "");
}

TEST(PlanFiles, HoldTheScenarioOfThePlan) {
  Asked asked;
  const Scenario question = asked.scenario();
  const Plans plans = asked.plans();
  bool seen = false;
  for (const auto& [path, text] : plan_files(Bundle(), plans)) {
    if (path != "1/scenario.json") continue;
    seen = true;
    const Scenario back = read_scenario(all_kinds(), parse_yaml(text, path)).points.front();
    EXPECT_EQ(to_json(back), to_json(plans.fleets[0].service(question)));
  }
  EXPECT_TRUE(seen);
}

TEST(LaunchCommand, HasTheFlagsOfTheEngine) {
  EngineOption o{{"h100-sxm", 0}, "vllm", "fp8", {.tp = 4, .pp = 2}};
  const auto command = [&o](EngineRole role = EngineRole::kBoth) {
    return launch_command(Bundle(), o, role, "meta/model", 0);
  };
  EXPECT_EQ(command().command,
            "vllm serve meta/model --tensor-parallel-size 4 --pipeline-parallel-size 2 "
            "--quantization fp8");
  EXPECT_THAT(command(EngineRole::kPrefill).command,
              HasSubstr("\"NixlConnector\",\"kv_role\":\"kv_both\"}'"));
  o.engine = "sglang", o.layout.tp = 1, o.layout.dp = 8, o.layout.ep = 8, o.layout.pp = 1;
  EXPECT_THAT(command().command, AllOf(HasSubstr("--tp-size 8"), HasSubstr("--enable-dp-attention"),
                                       EndsWith("--quantization fp8")));
  o.engine = "trtllm";
  EXPECT_THAT(command().command, HasSubstr("--tp_size 8"));
  EXPECT_EQ(command().options, "enable_attention_dp: true\n");
  o.layout.tp = 2, o.layout.dp = 4;
  EXPECT_EQ(command().command, "");
  EXPECT_THAT(command().refused, HasSubstr("data-parallel attention of trtllm takes all ranks"));
  o.layout.dp = 1, o.layout.tp = 2, o.layout.ep = 1;
  EXPECT_THAT(command().command, Not(HasSubstr("fp8")));
  EXPECT_THAT(command().needs, HasSubstr("checkpoint"));
  o.engine = "lmdeploy";
  EXPECT_THAT(command().refused, HasSubstr("no flags of lmdeploy"));
}

// A plan of 3 engines with tensor parallelism 2, or of 3 for prefill and 2 for decode.
std::map<std::string, std::string> platforms(const std::string& engine, bool apart, int tp = 2) {
  FleetPlan plan;
  plan.engine = {{"h100-sxm", 0}, engine, "", tp};
  plan.engines = 3;
  if (apart) plan.decode = plan.engine, plan.decode_engines = 2;
  std::map<std::string, std::string> out;
  for (auto& [name, text] : platform_files(Bundle(), plan, "meta/model", 8192, 8)) out[name] = text;
  return out;
}

TEST(PlatformFiles, HaveThePoolsOfThePlan) {
  auto files = platforms("vllm", false);
  ASSERT_EQ(files.size(), 2U);
  const Node dynamo = parse_yaml(files.at("dynamo.yaml"), "dynamo");
  const Node& worker = dynamo.at("spec").at("services").at("worker");
  EXPECT_EQ(worker.at("replicas").text(), "3");
  EXPECT_EQ(worker.at("resources").at("limits").at("gpu").text(), "2");
  EXPECT_THAT(files.at("dynamo.yaml"), HasSubstr("python3 -m dynamo.vllm --model meta/model "
                                                 "--tensor-parallel-size 2 --max-model-len 8192"));
  EXPECT_THAT(files.at("dynamo.yaml"), Not(HasSubstr("disaggregation")));
  const Node llm_d = parse_yaml(files.at("llm-d-values.yaml"), "llm-d");
  EXPECT_EQ(llm_d.at("decode").at("replicas").text(), "3");
  EXPECT_EQ(llm_d.at("prefill").at("create").text(), "false");

  files = platforms("vllm", true);
  const Node apart = parse_yaml(files.at("dynamo.yaml"), "dynamo");
  EXPECT_EQ(apart.at("spec").at("services").at("prefill").at("replicas").text(), "3");
  EXPECT_EQ(apart.at("spec").at("services").at("decode").at("replicas").text(), "2");
  EXPECT_THAT(files.at("dynamo.yaml"), AllOf(HasSubstr("--disaggregation-mode prefill\""),
                                             HasSubstr("--disaggregation-mode decode\"")));
  EXPECT_EQ(parse_yaml(files.at("llm-d-values.yaml"), "llm-d").at("prefill").at("replicas").text(),
            "3");
  EXPECT_THAT(files.at("llm-d-values.yaml"), HasSubstr("NixlConnector"));

  files = platforms("trtllm", true);
  ASSERT_EQ(files.size(), 1U);
  const Node server = parse_yaml(files.at("trtllm-disaggregated.yaml"), "trtllm");
  EXPECT_EQ(server.at("context_servers").at("urls").items().size(), 3U);
  EXPECT_EQ(server.at("generation_servers").at("urls").items().size(), 2U);
}

TEST(PlatformFiles, AreLeftOutForWhatTheyCannotStart) {
  EXPECT_TRUE(platforms("trtllm", false).empty());    // it serves both by itself
  EXPECT_TRUE(platforms("lmdeploy", false).empty());  // an engine that none knows
  EXPECT_TRUE(platforms("vllm", false, 16).empty());  // over two nodes
}

}  // namespace planner_test
}  // namespace orrery
