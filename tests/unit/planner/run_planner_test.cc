// Are plans of training runs the best that the space has, and do they answer the question?
#include "orrery/planner/runs/run_planner.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <sstream>

#include "orrery/base/error.h"
#include "orrery/base/node.h"
#include "orrery/kinds/all_kinds.h"
#include "orrery/planner/question/plan_question.h"
#include "orrery/planner/runs/run_bound.h"
#include "orrery/planner/runs/run_files.h"
#include "orrery/planner/runs/run_launch.h"
#include "orrery/planner/runs/run_search.h"
#include "orrery/planner/runs/run_space.h"
#include "orrery/scenario/document/scenario_json.h"
#include "orrery/scenario/document/scenario_sweep.h"
#include "orrery/scenario/kinds/training/training_layout.h"
#include "orrery/scenario/kinds/training/training_question.h"

namespace orrery {
namespace run_planner_test {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

struct Asked {
  std::string model = "llama-3-8b", gpu = "h100-sxm", objective = "time", stack = "megatron";
  std::string plan = ", gpu_counts: [8, 16]", run;
  double price = 2;

  Scenario scenario() const {
    return read_scenario(
               all_kinds(),
               parse_yaml(fmt::format("model: {}\nchance: {{draws: 10}}\ncost: {{price: "
                                      "{}}}\ntraining: {{tokens: 1e9, stack: "
                                      "{}, seq: 2048, global_batch: 64{}}}\nplan: {{gpu: [{}], "
                                      "objective: {}{}}}",
                                      model, price, stack, run, gpu, objective, plan),
                          "plan"))
        .points.front();
  }
  RunPlans plans() const {
    Runner runner{Bundle()};
    return find_run_plans(runner, scenario());
  }
  // The value of a metric of the best plan; infinite where there is no plan.
  double best(const char* metric) const {
    try {
      return plans().answer.points.at(0).find(metric)->value;
    } catch (const Infeasible&) {
      return HUGE_VAL;
    }
  }
};

std::vector<std::string> names(const RunPlans& plans) {
  std::vector<std::string> out;
  for (const RunPlan& p : plans.plans) out.push_back(p.name());
  return out;
}

std::string message(const Asked& asked) {
  try {
    asked.plans();
  } catch (const Infeasible& e) {
    return e.what();
  }
  return "";
}

TEST(GpuCounts, ArePowersOfTwoAndTheMost) {
  Asked asked;
  asked.plan = ", gpus: 24";
  const PlanQuestion q = asked.scenario().as<PlanQuestion>();
  EXPECT_THAT(gpu_counts(q, {"h100-sxm", 0}), ElementsAre(1, 2, 4, 8, 16, 24));
  EXPECT_THAT(gpu_counts(q, {"h100-sxm", 6}), ElementsAre(1, 2, 4, 6));
}

TEST(RunSpace, IsAllThatTheModelAndTheStackMayHave) {
  Runner runner{Bundle()};
  const PlanQuestion q = Asked().scenario().as<PlanQuestion>();
  const RunSpace s = run_space(q, runner.architecture("llama-3-8b"), 8);
  EXPECT_THAT(s.tp, ElementsAre(1, 2, 4, 8));
  EXPECT_THAT(s.pp, ElementsAre(1, 2, 4, 8, 16, 32));  // 32 layers
  EXPECT_THAT(s.ep, ElementsAre(1));                   // no experts
  EXPECT_THAT(s.zero, ElementsAre(1, 3));
}

// With one layout the plan says what `orrery train` says.
TEST(RunPlans, OfOneLayoutAreItsAnswer) {
  Asked asked;
  asked.plan =
      ", gpu_counts: [16], tp: [4], cp: [1], pp: [2], vp: [2], micro_batch: [1], zero: [1], "
      "recompute: [selective]";
  const RunPlans found = asked.plans();
  ASSERT_EQ(found.plans.size(), 1U);
  const Scenario train =
      read_scenario(
          all_kinds(),
          parse_yaml("model: llama-3-8b\nhardware: {gpu: h100-sxm}\ncost: {price: 2}\ntraining: "
                     "{tokens: 1e9, stack: megatron, seq: 2048, global_batch: 64, gpus: 16, tp: "
                     "4, pp: 2, vp: 2, zero: 1, recompute: selective}\nchance: {draws: 10}",
                     "train"))
          .points.front();
  Runner runner{Bundle()};
  const Point answer = runner.run(train).points.at(0);
  for (const char* name : {"time_to_train", "cost", "iteration_time", "memory", "mfu"})
    EXPECT_DOUBLE_EQ(found.answer.points[0].find(name)->value, answer.find(name)->value) << name;
  EXPECT_EQ(found.plans[0].layout.dp(), 2);
}

// The best of a search over all types and numbers of GPUs: names, and the bits of what they take.
std::vector<std::string> best_of(const Scenario& question, bool exhaustive) {
  static Runner runner{Bundle()};
  Scenario asked = question;
  PlanChoice& choice = asked.ask<PlanQuestion>().choice;
  choice.exhaustive = exhaustive;
  SearchContext context;
  std::vector<RatedRun> all;
  for (const auto& best : search_runs(runner, asked, context).best)
    all.insert(all.end(), best.begin(), best.end());
  std::sort(all.begin(), all.end(), [&choice](const RatedRun& a, const RatedRun& b) {
    return better(choice.objective, a, b);
  });
  std::vector<std::string> out;
  for (const RatedRun& r : all) {
    if (out.size() == static_cast<std::size_t>(choice.top)) break;
    out.push_back(fmt::format("{}: {} s, {} USD, {} J", r.plan.name(), r.run.total.value(),
                              r.run.usd, r.run.joules));
  }
  return out;
}

// Bisection and bounds leave nothing out that could win.
TEST(RunPlans, ArePrunedExactly) {
  std::mt19937 random(7);
  const auto pick = [&random](const std::vector<std::string>& of) {
    return of[random() % of.size()];
  };
  int found = 0;
  for (int i = 0; i < 300; ++i) {
    Asked asked;
    asked.model = pick({"llama-3-8b", "llama-2-7b", "mixtral-8x7b"});
    asked.gpu = pick({"h100-sxm", "a100-80g-sxm", "h100-sxm, a100-80g-sxm", "l40s"});
    asked.objective = pick({"time", "cost", "gpus", "energy"});
    asked.stack = pick({"megatron", "fsdp", "deepspeed"});
    asked.plan = fmt::format(
        ", gpu_counts: [{}], tp: [1, {}], pp: [{}], cp: [1], ep: [{}], vp: [1, 2], micro_batch: "
        "[{}], recompute: [{}]{}, confidence: {}, top: {}",
        pick({"8", "8, 16", "4, 8, 32"}), pick({"2", "4", "8"}), pick({"1", "1, 2", "4", "8"}),
        pick({"1", "4"}), pick({"1, 2, 4, 8, 16", "1, 3, 8", "2, 4, 64"}),
        pick({"none, full", "none", "full, selective"}), pick({"", ", by: 1 d", ", budget: 300"}),
        pick({"50", "90"}), pick({"1", "3"}));
    const Scenario question = asked.scenario();
    const std::vector<std::string> few = best_of(question, false);
    EXPECT_EQ(few, best_of(question, true))
        << asked.model << " " << asked.gpu << " " << asked.objective << asked.plan;
    found += few.empty() ? 0 : 1;
  }
  EXPECT_GT(found, 120);
}

TEST(RunBound, IsBelowEveryIteration) {
  for (const char* objective : {"time", "gpus"}) {
    Asked asked;
    asked.objective = objective;
    asked.plan += ", top: 20";
    Runner runner{Bundle()};
    const Scenario question = asked.scenario();
    const RunPlans found = find_run_plans(runner, question);
    for (std::size_t i = 0; i < found.plans.size(); ++i) {
      const Scenario s = found.plans[i].asked(question);
      const TrainingJob job = layout_of(s.as<TrainingQuestion>());
      const Gpu gpu = runner.catalog().gpu("h100-sxm");
      const Seconds least =
          least_iteration(runner.architecture("llama-3-8b"), gpu, job, found.plans[i].layout.gpus);
      const double iteration = found.answer.points[i].find("iteration_time")->value;
      EXPECT_LT(least.value(), iteration);
      EXPECT_GT(least.value(), 0.2 * iteration);  // and says something
    }
  }
}

TEST(RunPlans, OfDoublePricesAreTheSameAndCostTwice) {
  Asked once, twice;
  once.objective = twice.objective = "cost";
  twice.price = 2 * once.price;
  const RunPlans a = once.plans(), b = twice.plans();
  EXPECT_EQ(names(a), names(b));
  EXPECT_DOUBLE_EQ(2 * a.answer.points[0].find("cost")->value,
                   b.answer.points[0].find("cost")->value);
}

TEST(RunPlans, AreNotDearerWithALaterDateOrMoreStock) {
  Asked asked;
  asked.objective = "cost";
  double last = HUGE_VAL;
  for (const char* by : {"1 h", "4 h", "8 h", "1 d", "9 d"}) {
    asked.plan = fmt::format(", gpus: 64, tp: [2, 8], cp: [1], pp: [1, 4], by: {}", by);
    const double cost = asked.best("cost");
    EXPECT_LE(cost, last) << by;
    last = cost;
  }
  EXPECT_LT(last, HUGE_VAL);
  last = HUGE_VAL;
  asked.objective = "time", asked.plan = "";
  for (const char* gpu : {"\"h100-sxm:8\"", "\"h100-sxm:16\"", "\"h100-sxm:64\"",
                          "\"h100-sxm:64\", \"a100-80g-sxm:64\"", "b200-sxm, \"h100-sxm:64\""}) {
    asked.gpu = gpu;
    asked.plan = ", gpus: 64, tp: [2, 8], cp: [1], pp: [1, 4]";
    const double time = asked.best("time_to_train");
    EXPECT_LE(time, last) << gpu;
    last = time;
  }
}

TEST(RunPlans, OfAParetoFrontDoNotBeatEachOther) {
  Asked asked;
  asked.objective = "pareto", asked.plan = ", gpus: 64, cp: [1]";
  const RunPlans found = asked.plans();
  ASSERT_GT(found.plans.size(), 1U);
  for (std::size_t i = 0; i < found.plans.size(); ++i)
    for (std::size_t k = 0; k < found.plans.size(); ++k) {
      if (i == k) continue;
      const Point &a = found.answer.points[i], &b = found.answer.points[k];
      const bool beaten = b.find("time_to_train")->value < a.find("time_to_train")->value &&
                          b.find("cost")->value < a.find("cost")->value &&
                          found.plans[k].layout.gpus < found.plans[i].layout.gpus;
      EXPECT_FALSE(beaten) << names(found)[i] << " by " << names(found)[k];
    }
}

TEST(RunPlans, UseAllTheirGpus) {
  Asked asked;
  asked.plan = ", gpus: 48, top: 20";
  for (const RunPlan& p : asked.plans().plans) {
    const RunLayout& l = p.layout;
    EXPECT_EQ(l.tp * l.cp * l.pp * l.dp(), l.gpus) << p.name();
    EXPECT_EQ(64 % (l.micro_batch * l.dp()), 0) << p.name();
  }
}

TEST(RunPlans, SayWhatIsMissing) {
  Asked late;
  late.plan += ", by: 1 min";
  EXPECT_THAT(message(late), AllOf(HasSubstr("no plan ends within"), HasSubstr("are missing")));
  Asked poor;
  poor.plan += ", budget: 1";
  EXPECT_THAT(message(poor), AllOf(HasSubstr("no plan costs at most"), HasSubstr("are missing")));
  Asked large;
  large.model = "llama-3.1-405b", large.plan = ", gpu_counts: [8]";
  EXPECT_THAT(message(large), HasSubstr("no GPU of the plan holds the run"));
  // Few GPUs are cheap and late, many are in time and dear.
  Asked both;
  both.plan = ", gpu_counts: [8, 64], tp: [2, 8], cp: [1], pp: [1, 4]";
  both.objective = "cost";
  const double cheapest = both.best("cost");
  both.objective = "time";
  const double fastest = both.best("time_to_train");
  both.plan += fmt::format(", by: {} h, budget: {}", 1.01 * fastest, 1.01 * cheapest);
  EXPECT_THAT(message(both), HasSubstr("contradict each other"));
}

TEST(RunPlans, RefuseWhatMakesNoSense) {
  Asked asked;
  asked.objective = "throughput";
  EXPECT_THROW(asked.plans(), InputError);
  EXPECT_THROW(read_scenario(all_kinds(),
                             parse_yaml("model: llama-3-8b\ntraining: {tokens: 1e9, tp: 4}\nplan: "
                                        "{gpu: [h100-sxm]}",
                                        "plan")),
               InputError);
  EXPECT_THROW(
      read_scenario(all_kinds(), parse_yaml("model: llama-3-8b\ntraining: {tokens: 1e9}\nplan: "
                                            "{gpu: [h100-sxm], engines: [vllm]}",
                                            "plan")),
      InputError);
  EXPECT_THROW(
      read_scenario(all_kinds(), parse_yaml("model: llama-3-8b\nload: {rate: 1}\nslo: {tpot: 1 s}\n"
                                            "plan: {gpu: [h100-sxm], by: 3 d}",
                                            "plan")),
      InputError);
  Runner runner{Bundle()};
  const Scenario endless =
      read_scenario(all_kinds(),
                    parse_yaml("model: llama-3-8b\ntraining: {global_batch: 64}\nplan: {gpu: "
                               "[h100-sxm]}",
                               "plan"))
          .points.front();
  EXPECT_THROW(find_run_plans(runner, endless), InputError);
}

// The document of a plan is the question again.
TEST(RunPlans, ResolveToTheirQuestion) {
  Asked asked;
  asked.plan += ", by: 30 d";
  const nlohmann::ordered_json once = to_json(asked.scenario());
  const Scenario again =
      read_scenario(all_kinds(), parse_yaml(once.dump(), "again")).points.front();
  EXPECT_EQ(to_json(again), once);
}

// The document of the flags of a command that scenarios know, under their names or aliases.
std::string read_back(const std::string& script, const std::string& document) {
  const Fields& fields = all_kinds().keys();
  std::istringstream words(script);
  std::vector<std::string> all;
  for (std::string word; words >> word;)
    if (word != "\\") all.push_back(word);
  nlohmann::ordered_json training = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].starts_with("--")) continue;
    std::string name = all[i].substr(2);
    std::replace(name.begin(), name.end(), '-', '_');
    const Field* f = fields.find("training." + name);
    if (f == nullptr) continue;
    const bool flag = i + 1 == all.size() || all[i + 1].starts_with("--");
    training[name] = flag ? nlohmann::ordered_json(true)
                          : nlohmann::ordered_json::parse(all[i + 1], nullptr, false);
    if (training[name].is_discarded()) training[name] = all[i + 1];
  }
  return fmt::format("{}\ntraining: {}", document, training.dump());
}

TEST(RunFiles, OfMegatronReadBackAsTheirScenario) {
  for (const char* plan :
       {", gpu_counts: [16], tp: [4], pp: [2], vp: [2], zero: [1], recompute: [full]",
        ", gpu_counts: [8], tp: [2], pp: [1], zero: [1], recompute: [selective]",
        ", gpu_counts: [32], tp: [4], pp: [4], vp: [4], zero: [1], cp: [1], recompute: [none]"}) {
    Asked asked;
    asked.plan = plan;
    Runner runner{Bundle()};
    const RunPlans found = find_run_plans(runner, asked.scenario());
    std::map<std::string, std::string> files;
    for (const auto& [path, text] : run_files(runner, found)) files[path] = text;
    const std::string& script = files.at("1/megatron-lm.sh");
    const Scenario written = found.plans[0].asked(found.question);
    const std::string text = read_back(script, "model: llama-3-8b\nhardware: {gpu: h100-sxm}");
    Scenario read = read_scenario(all_kinds(), parse_yaml(text, "script")).points.front();
    auto& q = read.ask<TrainingQuestion>();
    q.gpus = found.plans[0].layout.gpus;  // torchrun's, not the trainer's
    q.stack = "megatron";
    TrainingJob a = layout_of(q), b = layout_of(written.as<TrainingQuestion>());
    // All layers of a virtual stage, whether counted or not.
    if (a.recompute == Recompute::kFull) {
      EXPECT_EQ(a.recompute_layers, 32 / (a.plan.pp * a.plan.vp));
    }
    a.recompute_layers = b.recompute_layers;
    EXPECT_TRUE(a == b) << script;
    EXPECT_EQ(q.iterations, 7630);  // 1e9 tokens in steps of 64 sequences of 2048
    // And so does the scenario.
    const Scenario again =
        read_scenario(all_kinds(), parse_yaml(files.at("1/scenario.json"), "again")).points.front();
    EXPECT_TRUE(layout_of(again.as<TrainingQuestion>()) == b);
  }
}

TEST(RunLaunch, RefusesWhatAStackCannotBeTold) {
  const Bundle bundle;
  const auto launches = run_launches(bundle, "megatron");
  ASSERT_EQ(launches.size(), 2U);  // Bridge and Megatron-LM
  EXPECT_EQ(launches[0].name(), "megatron-bridge");
  RunLayout layout;
  layout.gpus = 16, layout.zero = 3;
  TrainingJob job;
  job.global_batch = 64;
  EXPECT_THAT(launches[0].refusal(layout, job), HasSubstr("cannot be told zero 3"));
  EXPECT_EQ(launches[1].refusal(layout, job), "");
  EXPECT_EQ(refusal(launches, layout, job), "");
  layout.zero = 1, layout.tp = 2, layout.pp = 4, layout.vp = 2, layout.micro_batch = 4;
  job.global_batch = 48;  // 6 micro-batches in groups of 4
  EXPECT_THAT(refusal(launches, layout, job), HasSubstr("groups of pp"));
  layout.vp = 1;
  EXPECT_EQ(refusal(launches, layout, job), "");
  EXPECT_TRUE(run_launches(bundle, "oneflow").empty());  // nothing is known, nothing refused
  EXPECT_EQ(refusal({}, layout, job), "");
}

TEST(RunFiles, OfTorchtitanAreItsConfiguration) {
  Asked asked;
  asked.stack = "fsdp";
  asked.plan =
      ", gpu_counts: [16], tp: [2], pp: [2], vp: [1], zero: [3], micro_batch: [1], "
      "recompute: [selective]";
  Runner runner{Bundle()};
  const RunPlans found = find_run_plans(runner, asked.scenario());
  std::string text;
  for (const auto& [path, content] : run_files(runner, found))
    if (path == "1/torchtitan.toml") text = content;
  EXPECT_THAT(text, AllOf(HasSubstr("tensor_parallel_degree = 2\n"),
                          HasSubstr("pipeline_parallel_schedule = \"1F1B\"\n"),
                          HasSubstr("data_parallel_shard_degree = "
                                    "4\n"),
                          HasSubstr("local_batch_size = 16\n"), HasSubstr("mode = \"selective\"\n"),
                          Not(HasSubstr("context_parallel"))));
}

}  // namespace run_planner_test
}  // namespace orrery
