// The kind of a plan: of a service, or of a training run (plan_question.h).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "orrery/base/error.h"
#include "orrery/planner/answer/plan_table.h"
#include "orrery/planner/emit/from_command.h"
#include "orrery/planner/question/plan_question.h"
#include "orrery/planner/workers/search_context.h"
#include "orrery/scenario/kind/document_checks.h"
#include "orrery/scenario/kind/question_kind.h"
#include "orrery/scenario/kinds/service/limit_texts.h"
#include "orrery/scenario/kinds/service/service_question.h"
#include "orrery/scenario/kinds/training/training_question.h"

namespace orrery {
namespace {

TopKeys top_keys(const Scenario& s) {
  if (planned(s).training) {
    return {{"name", "question", "model", "model_overrides", "cost", "training", "chance", "plan"},
            "a plan of a run"};
  }
  return {{"name", "question", "model", "model_overrides", "parallel", "workload", "cost", "load",
           "slo", "speculation", "plan"},
          "a plan"};
}

// Refuses keys of `map` that the other kind of plan has, or that the plan chooses. `fields`: those
// of the group.
void refuse_keys(const Node& map, const Fields& fields, const std::vector<std::string>& keys,
                 const std::string& why) {
  for (std::size_t i = 0; i < map.keys().size(); ++i) {
    const Field* f = fields.find(map.keys()[i]);
    const std::string& name = f != nullptr ? f->name() : map.keys()[i];
    if (std::find(keys.begin(), keys.end(), name) != keys.end()) map.items()[i].fail(why);
  }
}

template <class Keys>
void refuse_keys_of(Keys keys, const Node& map, const std::vector<std::string>& refused,
                    const std::string& why) {
  Fields fields;
  declare(fields, keys);
  refuse_keys(map, fields, refused, why);
}

constexpr const char* kChosen = "the plan chooses this; what it chooses from is listed under plan";

void check_plan(const Node& document, const Scenario& s) {
  const auto need = [](const Node& map, const char* key, const char* why) {
    if (!map.find(key)) map.fail(fmt::format("'{}' is missing: {}", key, why));
  };
  document.at("model");
  const Node& plan = document.at("plan");
  need(plan, "gpu", "a plan chooses from GPUs, such as --gpu h100-sxm,h200-sxm");
  if (planned(s).training) {
    refuse_keys_of(PlanChoice(), plan, plan_keys_of_services(),
                   "plans of services have this, plans of runs do not");
    refuse_keys_of(TrainingQuestion(), document.at("training"), planned_training_keys(), kChosen);
    return;
  }
  need(document, "load", "a plan serves requests, such as --rate 2 --isl 1000 --osl 300");
  need(document, "slo", "a plan keeps limits, such as --slo ttft:1s,tpot:50ms");
  refuse_keys_of(PlanChoice(), plan, plan_keys_of_runs(),
                 "plans of runs have this, plans of services do not");
  if (const Node* parallel = document.find("parallel")) {
    Scenario common;
    SteadyQuestion batch;
    Fields fields;
    declare(fields, common, batch);
    refuse_keys(*parallel, *fields.find("parallel")->group(), planned_parallel_keys(), kChosen);
  }
  refuse_batch_lengths(document);
}

Asked ask(const Node& document, const KeyValues& values) {
  PlanQuestion q;
  q.choice = values.of<PlanChoice>();
  if (document.find("training")) {
    q.training = values.of<TrainingKeys>().asked(document.find("chance") != nullptr);
  } else {
    q.service = values.of<ServiceQuestion>();
    if (std::isinf(q.service.rate))
      q.service.arrivals = "at-once", q.service.rate = ServiceQuestion().rate;
  }
  return q;
}

void put(const Scenario& s, KeyValues& values) {
  const PlanQuestion& q = planned(s);
  values.of<PlanChoice>() = q.choice;
  if (q.training) {
    values.of<TrainingKeys>() = TrainingKeys::of(*q.training);
  } else {
    values.of<ServiceQuestion>() = q.service;
  }
}

// Takes out the keys of a plan that its kind of question does not have, and those of a run that the
// plan chooses.
void tidy(const Scenario& s, nlohmann::ordered_json& document) {
  const PlanQuestion& q = planned(s);
  for (const std::string& key : q.training ? plan_keys_of_services() : plan_keys_of_runs())
    document["plan"].erase(key);
  if (q.training) {
    for (const std::string& key : planned_training_keys()) document["training"].erase(key);
    if (!q.training->chance) document.erase("chance");
    return;
  }
  for (const std::string& key : planned_parallel_keys()) document["parallel"].erase(key);
  for (const std::string& key : steady_keys()) document["workload"].erase(key);
  if (!q.service.speculation.on()) document.erase("speculation");
}

void answer(const Answering& with, const Scenario& s, PointAnswers& out) {
  SearchContext context({nullptr, with.options.watcher, nullptr});
  Answer plans = answer_plan(with.runner, s, context);
  out.points = std::move(plans.points);
  out.complete = plans.complete;
}

void add_keys(VerbKeyList& keys) {
  keys.add_key("model", kAskedHeading);
  add_workload_keys(keys);
  for (const char* group : {"cost", "load"}) keys.add_group(group);
  for (const char* group : {"slo", "speculation"}) keys.add_group(group, {.prefix = group});
  keys.add_group("plan");
  // The plan chooses some keys of a run. A name that a service has, too, is the service's: the key
  // of the run is --set training.expert_skew.
  const auto known = [&keys](const Field& f) { return keys.find(f.name()) != nullptr; };
  const auto chosen = [known](const Field& f) {
    const std::vector<std::string>& all = planned_training_keys();
    return known(f) || std::find(all.begin(), all.end(), f.name()) != all.end();
  };
  constexpr std::string_view kRun = "--train: the run";
  keys.add_group("training", {.heading = kRun, .without = chosen});
  keys.add_group("chance", {.prefix = "chance", .heading = kRun, .without = known});
}

void complete(const Verb& verb, const GivenTexts& texts, Node& document) {
  const bool train = texts.flag("train");
  const std::string example =
      std::string(verb.example) +
      (train ? " --train --tokens 2T --global-batch 2048" : " --rate 4 --slo tpot:40ms");
  require_keys(document, {{"model", "--model"}, {"plan.gpu", "--gpu"}}, example);
  const bool has_training = document.find("training") != nullptr;
  if (train && !has_training)
    throw InputError("--train needs the length of the run, as in --tokens 2T --global-batch 2048");
  if (!train && has_training) throw InputError("flags of a training run need --train");
  if (!train && !document.find("load")) set_path(document, "load.seed", scalar_node("0", ""));
}

std::vector<VerbText> texts() {
  std::vector<VerbText> all = {{.name = "train",
                                .form = VerbText::Form::kFlag,
                                .help = "plan a training run in the place of a service",
                                .heading = kAskedHeading}};
  for (VerbText& limits : limit_texts()) all.push_back(limits);
  return all;
}

Verb plan_verb() {
  return {
      .name = "plan",
      .heading = "Choose what to deploy",
      .place = 40,
      .help =
          "Chooses GPU, engine, formats, layout and number of engines for a load and its "
          "limits, and proves the choice by simulation; with --train the number of GPUs and their "
          "layout for a training run.",
      .examples =
          "  orrery plan -m llama-3.1-70b --gpu h100-sxm,h200-sxm --rate 20 \\\n"
          "    --isl 1200 --osl 250 --slo ttft:1s,tpot:40ms --engines vllm,sglang \\\n"
          "    --formats checkpoint,fp8\n"
          "  orrery plan -m llama-3.1-8b -g l40s --gpus 8 --objective throughput \\\n"
          "    --slo tpot:50ms\n"
          "  orrery plan -m llama-3-70b --train --tokens 2T --by 60d \\\n"
          "    --gpu h100-sxm,h200-sxm:4096 --stack megatron --global-batch 2048 \\\n"
          "    --seq 8192 --objective cost --out plan\n"
          "  mpirun -n 16 orrery plan ... --resume results.db   (on many cores or machines;\n"
          "    `orrery --version` says whether MPI is built in)",
      .epilog = "Ctrl-C ends with the best plan so far, marked incomplete: exit code 130.",
      .defines = true,
      .example = "orrery plan --model llama-3-8b --gpu h100-sxm",
      .add_keys = add_keys,
      .texts = texts(),
      .any_key_heading = kEngineHeading,
      .lay = lay_limits,
      .complete = complete,
      .output = {.table = plan_table},
      .page = {.figures = {"cost_per_hour", "time_to_train", "ttft_p99", "tpot_p99",
                           "output_throughput", "cost", "gpu_hours", "headroom", "chance"},
               .across = {"time_to_train", "cost_per_hour"},
               .up = {"tpot_p99", "cost"},
               .forms = {{.title = "A service",
                          .usual = {"model", "gpu", "rate", "isl", "osl", "slo-ttft", "slo-tpot",
                                    "gpus", "engines", "formats", "objective", "requests"},
                          .values = {{"model", "llama-3.1-8b"},
                                     {"gpu", "h100-sxm,l40s"},
                                     {"rate", "5"},
                                     {"isl", "500"},
                                     {"osl", "100"},
                                     {"slo-ttft", "1s"},
                                     {"slo-tpot", "40ms"},
                                     {"objective", "cost"}},
                          .marker = {"load.seed", "0"}},
                         {.title = "A training run",
                          .when = "train=true",
                          .usual = {"model", "gpu", "tokens", "by", "gpu-counts", "global-batch",
                                    "seq", "stack", "formats", "objective", "budget", "confidence"},
                          .values = {{"train", "true"},
                                     {"model", "llama-3-70b"},
                                     {"gpu", "h100-sxm"},
                                     {"tokens", "1T"},
                                     {"gpu-counts", "256,512,1024,2048"},
                                     {"global-batch", "1024"},
                                     {"seq", "8192"},
                                     {"stack", "megatron"},
                                     {"objective", "pareto"}}}},
               .waits = true,
               .alternatives = true}};
}

QuestionKind made() {
  QuestionKind kind;
  kind.name = kind.group = "plan";
  kind.plural = "plans";
  kind.keys = key_set<PlanChoice>([](Fields& fields, KeyValues& values) {
    PlanChoice& choice = values.of<PlanChoice>();
    fields.group(
        "plan", [&choice](Fields& group) { declare(group, choice); },
        "the planner: deployments to choose from, and what the best one has least of");
  });
  kind.takes = {&kind_of(ServiceQuestion()), &kind_of(TrainingQuestion())};
  kind.top_keys = top_keys;
  kind.ask = ask;
  kind.put = put;
  kind.check = check_plan;
  kind.tidy = tidy;
  kind.effort = [](const Scenario&) { return Effort{.long_search = true}; };
  kind.answer = answer;
  kind.answers_infeasible = false;
  kind.checkable = false;
  kind.verbs = {plan_verb()};
  return kind;
}

}  // namespace

const QuestionKind& plan_kind() {
  static const QuestionKind kind = made();
  return kind;
}

const QuestionKind& kind_of(const PlanQuestion&) { return plan_kind(); }

}  // namespace orrery
