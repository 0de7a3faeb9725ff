#include "orrery/planner/question/plan_question.h"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "orrery/base/error.h"

namespace orrery {
namespace {

constexpr double kMostGpus = 1'000'000;

// The fields of a model that shares the GPUs; those of a service which are its load and its limits.
void read_planned_model(const Node& node, PlannedModel& m) {
  if (!node.is_map()) node.fail("expected a model with its load and its limits");
  for (std::size_t i = 0; i < node.keys().size(); ++i) {
    const std::string& key = node.keys()[i];
    if (key != "model" && key != "load" && key != "slo")
      node.items()[i].fail("a model of plan.others has model, load and slo; the rest is shared");
  }
  for (const char* key : {"model", "load", "slo"}) node.at(key);
  Fields fields;
  const CostChoice cost;
  fields.add("model", m.model, "the model").verbatim();
  declare(fields, m.service, cost);
  fields.read(node);
}

nlohmann::ordered_json json_of(const std::vector<PlannedModel>& models) {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  for (PlannedModel m : models) {
    Fields fields;
    const CostChoice cost;
    declare(fields, m.service, cost);
    const nlohmann::ordered_json all = fields.json();
    out[m.name] = {{"model", m.model}, {"load", all["load"]}, {"slo", all["slo"]}};
  }
  return out;
}

}  // namespace

const std::vector<std::string>& plan_objective_names() {
  static const std::vector<std::string> names = {"cost",       "gpus", "energy",
                                                 "throughput", "time", "pareto"};
  return names;
}

GpuStock GpuStock::parse(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == text.npos) return {std::string(text), 0};
  const std::string_view number = text.substr(colon + 1);
  GpuStock stock{std::string(text.substr(0, colon)), 0};
  const auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), stock.gpus);
  if (error != std::errc() || end != number.data() + number.size() || stock.gpus < 1)
    throw InputError(fmt::format(
        "plan.gpu {}: expected the number of GPUs after the colon, as in h200-sxm:64", text));
  return stock;
}

namespace {

// The GPUs and the aim.
void declare_goal(Fields& f, PlanChoice& p) {
  f.add("gpu", p.gpu, "types of GPUs to choose from, each with how many there are: h200-sxm:64")
      .repeats();
  f.add_enum("objective", p.objective, plan_objective_names(),
             "what the best plan has least of, at the rate of the load or for the run; throughput: "
             "the highest rate that plan.gpus or plan.budget can take; time: of a run; pareto: all "
             "plans of a run that no other one beats in time, money and GPUs; of a service cost "
             "with front tpot");
  f.add("front", p.front,
        "latency whose limit is made tighter from that of slo, or from none, until nothing keeps "
        "it; the plans are the best within each limit, as far as no other one beats them in the "
        "objective and that latency")
      .one_of({"", "ttft", "tpot", "e2e"});
  f.add("gpus", p.gpus, "most GPUs of a plan; 0: no limit").range(0, kMostGpus);
  f.add("budget", p.budget,
        "most USD that a plan may cost: a service in a month (730 hours), a run in all; 0: no "
        "limit")
      .range(0, 1e12);
}

// The engines among which a plan chooses; a run has some of these keys, too.
void declare_engines(Fields& f, PlanChoice& p) {
  f.add("engines", p.engines, "engines to choose from").repeats();
  f.add("formats", p.formats,
        "number formats to choose from: of the weights of a service, where checkpoint is as the "
        "model is published; of the products of a run, where it is training.compute")
      .repeats();
  f.add("modes", p.modes,
        "aggregated: every engine does prefill and decode; disaggregated: each does one of them")
      .one_of({"aggregated", "disaggregated"})
      .repeats();
  f.add("tp", p.tp,
        "tensor-parallel ranks to choose from; none: 1, 2, 4, ... up to engine_gpus, of a run "
        "up to the GPUs of a node")
      .range(1, kMostGpus);
  f.add("pp", p.pp,
        "pipeline stages to choose from; none: 1, and 2 where tp fills a node; of a run all "
        "that divide the layers")
      .range(1, kMostGpus);
  f.add("dp", p.dp,
        "data-parallel groups of attention, over whose ranks experts are divided, to choose from; "
        "none: as many as tensor-parallel ranks are tried")
      .range(1, kMostGpus);
  f.add("max_num_seqs", p.max_num_seqs,
        "most sequences that an engine runs at once, to choose from; none: the engine's own")
      .range(1, 1000000);
  f.add("max_num_batched_tokens", p.max_num_batched_tokens,
        "most tokens of an engine's step, to choose from, which is also how finely prompts are "
        "chunked; none: the engine's own")
      .range(1, 10000000);
  f.add("prefix_caching", p.prefix_caching,
        "prefix caching to choose from, where the engine has it and prompts of the load begin "
        "alike; otherwise it changes nothing, and is not tried")
      .one_of({"on", "off"})
      .repeats();
  f.add("engine_gpus", p.engine_gpus, "most GPUs of one engine; 0: those of a node")
      .range(0, kMostGpus);
}

// The certainty and the number of plans, and changes that are looked at besides.
void declare_proof(Fields& f, PlanChoice& p) {
  f.add("confidence", p.confidence,
        "fleets are tried with every step at this quantile of its time, so that limits hold for "
        "slower steps than predicted too; of a run the least chance that it fits in memory and "
        "ends in plan.by")
      .range(50, 99)
      .unit("%");
  f.add("spare", p.spare, "engines of each pool that may be lost while the limits hold (N+1: 1)")
      .range(0, 1000);
  f.add("top", p.top,
        "number of plans, each of another engine, layout or number of GPUs, that are shown")
      .range(1, 20);
  f.add("explain", p.explain,
        "search again for what would change the plan: limits at which another plan is the best, "
        "more GPUs, memory or money, other GPUs and the price at which they are as good, and "
        "layouts that "
        "are the usual choice");
  f.add("what_if_gpu", p.what_if_gpu,
        "types of GPUs that are not to be had: plan.explain says what they would change, and below "
        "which price they are the best")
      .repeats();
  f.add("availability", p.availability,
        "least share of the time in which enough engines work; it gives the number of spare ones; "
        "0: spare alone")
      .range(0, 99.9999999)
      .unit("%");
  f.add("repair", p.repair, "time until a failed engine works again; needs availability");
  f.add("robust", p.robust,
        "the plan with the least regret if the load or the lengths of its requests differ by so "
        "much: load:20%, lengths:10%")
      .repeats();
  f.add("day", p.day,
        "requests a second in equal parts of a day, as of 24 hours; the answer then has the "
        "numbers of engines over the day and their GPU hours")
      .range(0, 1e6);
  f.add("startup", p.startup, "time until an engine that is started serves; needs day");
}

// The boards, the kinds of engines, further models and the search.
void declare_breadth(Fields& f, PlanChoice& p) {
  f.add("power_limits", p.power_limits,
        "power limits of a GPU's board to choose from, as 500 W; the data sheet's is always tried")
      .repeats();
  f.add("clocks", p.clocks,
        "highest clocks of a GPU's multiprocessors to choose from, as 1410 MHz; the boost clock is "
        "always tried, and each clock at each power limit. Of a run both count where a slower "
        "board can win: with objective energy, and with cost where owned GPUs pay for electricity")
      .repeats();
  f.add("mixed", p.mixed,
        "the engines of a model may be of several kinds, on several types of GPUs, each with a "
        "share of its load");
  f.custom(
      "others", Field::Type::kGroup,
      [&p](const Node& n) {
        if (!n.is_map()) n.fail("expected names, each with a model, its load and its limits");
        p.others.clear();
        for (std::size_t i = 0; i < n.keys().size(); ++i) {
          p.others.emplace_back().name = n.keys()[i];
          read_planned_model(n.items()[i], p.others.back());
        }
      },
      [&p] { return json_of(p.others); },
      "further models that share the GPUs and the money, by names: each has model, load and slo");
  f.add("from_command", p.from_command,
        "command that starts an engine today (vllm serve ..., python -m sglang.launch_server ..., "
        "trtllm-serve ...): the notes of the best plan say what it brings under the load, and what "
        "the plan changes")
      .verbatim();
  f.add("exhaustive", p.exhaustive,
        "look at every candidate instead of those that can win; the plans are the same");
}

// The layouts among which a plan of a run chooses.
void declare_run(Fields& f, PlanChoice& p) {
  f.add("by", p.by, "longest time to the end of a run, as 60 d; 0 s: no limit");
  f.add("gpu_counts", p.gpu_counts,
        "numbers of GPUs of a run to choose from; none: 1, 2, 4, ... and the most that there are")
      .range(1, kMostGpus);
  f.add("cp", p.cp,
        "context-parallel ranks to choose from: of a run, where none are 1, 2, 4 and 8; of a "
        "service those that divide KV caches in decode (parallel.cp), where none are 1")
      .range(1, kMostGpus);
  f.add("vp", p.vp,
        "model chunks per pipeline stage of a run to choose from; none: all that divide the layers")
      .range(1, kMostGpus);
  f.add("ep", p.ep,
        "expert-parallel groups of a run to choose from; none: all powers of two that divide the "
        "experts")
      .range(1, kMostGpus);
  f.add("micro_batch", p.micro_batch,
        "sequences of a micro-batch of a run to choose from; none: 1, 2, 4, ... 16")
      .range(1, kMostGpus);
  f.add("zero", p.zero,
        "ZeRO stages of a run to choose from; none: the stack's and 3, as far as the stack has "
        "flags for them (catalog/launch)")
      .range(0, 3);
  f.add("recompute", p.recompute, "activations that a run recomputes, to choose from")
      .one_of({"none", "selective", "full"})
      .repeats();
}

}  // namespace

void declare(Fields& f, PlanChoice& p) {
  declare_goal(f, p);
  declare_engines(f, p);
  declare_proof(f, p);
  declare_breadth(f, p);
  declare_run(f, p);
}

const std::vector<std::string>& plan_keys_of_services() {
  static const std::vector<std::string> keys = {
      "engines",       "modes",        "dp",
      "engine_gpus",   "explain",      "what_if_gpu",
      "availability",  "repair",       "robust",
      "day",           "startup",      "spare",
      "mixed",         "others",       "from_command",
      "front",         "max_num_seqs", "max_num_batched_tokens",
      "prefix_caching"};
  return keys;
}

const std::vector<std::string>& plan_keys_of_runs() {
  static const std::vector<std::string> keys = {"by",          "gpu_counts", "vp",       "ep",
                                                "micro_batch", "zero",       "recompute"};
  return keys;
}

const std::vector<std::string>& planned_training_keys() {
  static const std::vector<std::string> keys = {"gpus",
                                                "tp",
                                                "cp",
                                                "pp",
                                                "vp",
                                                "ep",
                                                "micro_batch",
                                                "zero",
                                                "recompute",
                                                "rank",
                                                "split",
                                                "first_layers",
                                                "last_layers",
                                                "events",
                                                "shard",
                                                "find_max_batch",
                                                "recompute_layers",
                                                "split_embedding",
                                                "split_loss"};
  return keys;
}

const std::vector<std::string>& planned_parallel_keys() {
  static const std::vector<std::string> keys = {"tp", "pp", "dp", "ep", "cp"};
  return keys;
}

}  // namespace orrery
