#include "orrery/scenario/document/scenario_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "orrery/scenario/answer/optimum.h"
#include "orrery/scenario/document/scenario_form.h"
#include "orrery/scenario/question/sweep.h"
#include "orrery/serving/profile/engine_profile.h"
#include "orrery/workload/ops/format.h"
#include "orrery/workload/ops/format_field.h"

namespace orrery {
namespace {

constexpr std::int64_t kLongestContext = 100'000'000;
constexpr int kMostHeads = 100'000;
constexpr std::int64_t kMostRanks = 100'000;

constexpr int kMostExperts = 100'000;

void declare(Fields& f, ExpertPlan& x) {
  constexpr const char* kExperts = "a model with experts";
  f.add_enum("moe_a2a_backend", x.transport, {"auto", "none", "deepep"},
             "way of tokens to the experts of other ranks: none sends a copy for each expert by "
             "collectives, deepep runs DeepEP's kernels; auto: deepep with dp above 1 and ep above "
             "8, which spans nodes")
      .needs(kExperts);
  f.add_enum("deepep_mode", x.mode, {"auto", "normal", "low_latency"},
             "kernels of DeepEP; auto: low_latency in steps that only decode, normal in others")
      .needs(kExperts);
  f.add("ep_num_redundant_experts", x.redundant,
        "copies of experts in each layer in addition to the experts; a load balancer chooses and "
        "places them (EPLB)")
      .range(0, kMostExperts)
      .alias("num_redundant_experts")
      .needs(kExperts);
  f.add("enable_eplb", x.balanced,
        "a load balancer places the experts, so that ranks have equal loads; redundant experts "
        "imply it")
      .needs(kExperts);
  f.add("enable_two_batch_overlap", x.two_batch,
        "a step is computed as two halves, one of which is on the wires to the experts and back "
        "while the GPU computes the other; steps of few tokens are not halved")
      .alias("enable_dbo")
      .needs(kExperts);
}

// A document as JSON. Scalars without quotes that are numbers or truth values are written as such.
nlohmann::ordered_json document_json(const Node& n) {
  if (n.is_map() || n.is_null()) {
    nlohmann::ordered_json out = nlohmann::ordered_json::object();
    for (std::size_t i = 0; i < n.keys().size(); ++i)
      out[n.keys()[i]] = document_json(n.items()[i]);
    return out;
  }
  if (n.is_list()) {
    nlohmann::ordered_json out = nlohmann::ordered_json::array();
    for (const Node& item : n.items()) out.push_back(document_json(item));
    return out;
  }
  nlohmann::ordered_json value = nlohmann::ordered_json::parse(n.text(), nullptr, false);
  const bool plain = !n.quoted() && (value.is_number() || value.is_boolean());
  return plain ? value : nlohmann::ordered_json(n.text());
}

// Keys of every question; those of simulations and of collectives follow them.
void declare_shared(Fields& f, ScenarioValues& keys) {
  Scenario& s = keys.scenario;
  SteadyQuestion& steady = keys.steady;
  f.add("name", s.name, "name of the scenario, repeated in the answer").verbatim();
  f.add("question", s.question, "the question in a sentence").verbatim();
  std::vector<std::string> objectives = objective_names();
  objectives.insert(objectives.begin(), "");
  f.add(
       "objective", s.objective,
       "names the best point of a sweep that meets its SLO: the one with the least energy, cost or "
       "energy-delay product of a token; empty: none is named")
      .one_of(std::move(objectives));
  f.add("model", s.model, "bundled id, Hugging Face id, path to a config.json, or its text");
  f.group(
      "model_overrides",
      [&](Fields& g) {
        g.add("kv_heads", s.model_overrides.kv_heads,
              "KV heads of every attention layer, to compare MHA, GQA and MQA; "
              "0: the model's own")
            .range(0, kMostHeads);
      },
      "variant of the model");
  f.group(
      "hardware",
      [&](Fields& g) {
        g.add("gpu", s.hardware.gpu, "GPU id, or path to a YAML file of its facts");
        g.add("node", s.hardware.node,
              "node type, or the network between the usual nodes of the GPU (ib-hdr, or 4xib-hdr "
              "with four ports a node); empty: the usual node type of the GPU")
            .alias("fabric");
        g.add("power_limit", s.hardware.power_limit,
              "power limit of each GPU's board, at most the data sheet's, which is the default; it "
              "lowers the clock of steps that demand more (docs/energy.md)");
        g.add("clock", s.hardware.clock,
              "highest clock of the multiprocessors that the boards allow; default: the boost "
              "clock");
      },
      "hardware");
  f.group(
      "parallel",
      [&](Fields& g) {
        add_sweep(g, "tp", s.parallel.tp, 1, kMostRanks, "tensor-parallel ranks")
            .alias("tensor_parallel_size");
        add_sweep(g, "pp", s.parallel.pp, 1, kMostRanks, "pipeline stages")
            .alias("pipeline_parallel_size");
        g.add("dp", s.parallel.dp, "data-parallel groups of the attention layers")
            .range(1, kMostRanks)
            .alias("data_parallel_size");
        g.add("ep", s.parallel.ep, "expert-parallel groups")
            .range(1, kMostRanks)
            .alias("expert_parallel_size");
        g.add("cp", s.parallel.cp,
              "decode context parallelism: tensor-parallel ranks with the same key-value head that "
              "divide the tokens of its cache among them; it divides tp (docs/composition.md)")
            .range(1, kMostRanks)
            .alias("decode_context_parallel_size")
            .alias("dcp_size");
        declare(g, s.parallel.experts);
      },
      "parallelism");
  f.group(
      "precision",
      [&](Fields& g) {
        auto& p = s.precision;
        static const std::vector<std::string> kPlain = {"bf16", "fp16", "fp32"};
        static const std::vector<std::string> kCache = {"auto", "fp8",  "int8",
                                                        "bf16", "fp16", "fp32"};
        const auto among = [](const std::vector<std::string>& names) {
          return [&names](const std::string& text) {
            const auto dtype = parse_dtype(text);
            const std::string name = dtype ? std::string(to_text(*dtype)) : text;
            return std::find(names.begin(), names.end(), name) != names.end();
          };
        };
        const auto is_format = [](const std::string& text) {
          return parse_format(text).has_value();
        };
        add_format(g, "dtype", p.dtype, among(kPlain), kPlain,
                   "16-bit format of activations and unquantised weights; empty: the checkpoint's");
        add_format(g, "quantization", p.quantization, is_format, format_names(),
                   "format of the projections' weights; empty: the checkpoint's");
        add_format(g, "moe_quantization", p.moe_quantization, is_format, format_names(),
                   "format of the experts' weights; empty: as quantization")
            .needs("a model with experts");
        add_format(g, "kv_cache_dtype", p.kv_cache_dtype, among(kCache), kCache,
                   "format of the KV cache; empty or auto: as the checkpoint, else as dtype");
      },
      "number formats");
  f.group(
      "engine",
      [&](Fields& g) {
        g.add("profile", s.engine.profile, "engine id");
        std::vector<std::string> setups = engine_setup_names();
        setups.insert(setups.begin(), "");
        g.add(
             "setup", s.engine.setup,
             "how it is started: default (with its model and layout alone) or tuned (as a vendor's "
             "recipe); empty: default, and the intervals cover both")
            .one_of(std::move(setups));
        g.custom(
            "overrides", Field::Type::kGroup, [&](const Node& n) { s.engine.overrides = n; },
            [&] { return document_json(s.engine.overrides); },
            "constants of the engine's profile that differ");
      },
      "the serving engine");
  f.group(
      "workload",
      [&](Fields& g) {
        auto& w = s.workload;
        add_sweep(g, "isl", steady.isl, 1, kLongestContext, "prompt tokens")
            .unit("tokens")
            .alias("input_len");
        add_sweep(g, "osl", steady.osl, 1, kLongestContext, "output tokens")
            .unit("tokens")
            .alias("output_len");
        add_sweep(g, "batch", steady.batch, 1, 10'000'000,
                  "requests that are processed at the same time")
            .unit("requests")
            .alias("batch_size")
            .alias("concurrency");
        g.add("closed_loop", steady.closed_loop,
              "users send their next request as soon as one ends; false: one batch is processed "
              "once");
        g.add("requests_per_user", steady.requests_per_user,
              "closed loop: requests per user; all users send their first request at time 0; 0: "
              "unlimited")
            .range(0, 1e9)
            .needs("workload.closed_loop", [&steady] { return steady.closed_loop; });
        g.add("equal_lengths", steady.equal_lengths,
              "closed loop: all requests have exactly these lengths, so that the users stay in "
              "step; false: the lengths scatter around them")
            .needs("workload.closed_loop", [&steady] { return steady.closed_loop; });
        g.add("max_model_len", w.max_model_len,
              "longest sequence for which the KV cache is planned; 0: isl + osl")
            .unit("tokens")
            .range(0, kLongestContext);
        g.add("past", steady.past, "tokens of the prompt that are in the prefix cache already")
            .unit("tokens")
            .range(0, kLongestContext);
        g.add("expert_skew", w.expert_skew,
              "exponent of the power law by which tokens are spread over experts; 0: balanced")
            .range(0, 3)
            .needs("a model with experts");
      },
      "workload");
  f.group(
      "cost", [&](Fields& g) { declare(g, s.cost); },
      "money: the price of the GPUs, which gives the cost of tokens, requests and runs");
  f.group(
      "energy", [&](Fields& g) { declare(g, s.plant, s.cost); },
      "the plant: what counts as power, and the emissions of its electricity");
}

void declare_collective(Fields& f, ScenarioValues& s) {
  f.group(
      "collective", [&](Fields& g) { declare(g, s.collective); },
      "a single collective, without a model");
}

void declare_kernel(Fields& f, ScenarioValues& s) {
  f.group("kernel", [&](Fields& g) { declare(g, s.kernel); }, "a single kernel, without a model");
}

void declare_edge(Fields& f, ScenarioValues& s) {
  f.group(
      "edge", [&](Fields& g) { declare(g, s.edge); },
      "a network or an LLM on a phone, a board, a laptop or a GPU");
}

void declare_training(Fields& f, ScenarioValues& s) {
  f.group("training", [&](Fields& g) { declare(g, s.training); }, "an iteration of training");
  f.group(
      "chance", [&](Fields& g) { declare(g, s.chance); },
      "variability, failures and checkpoints of a training run");
}

void declare_replay(Fields& f, ScenarioValues& s) {
  f.group(
      "replay", [&](Fields& g) { declare(g, s.replay); },
      "a recorded trace of training, run again as it was and as it might be");
}

void declare_plan(Fields& f, ScenarioValues& s) {
  f.group(
      "plan", [&](Fields& g) { declare(g, s.plan); },
      "the planner: deployments to choose from, and what the best one has least of");
}

}  // namespace

void declare(Fields& f, ScenarioValues& s) {
  const auto nothing = [] { return nlohmann::ordered_json(nullptr); };
  f.custom(
      "format", Field::Type::kText, [](const Node&) {}, nothing,
      "version of this form that the file is written for, such as 1.0; a newer one than the "
      "program's is refused");
  f.custom(
      "include", Field::Type::kText,
      [](const Node& n) { n.fail("only a file can include another; flags cannot"); }, nothing,
      "path of another scenario file, relative to this one; its keys hold where this file has "
      "none");
  f.custom(
      "sweep", Field::Type::kGroup, [](const Node& n) { n.fail("a sweep within a sweep"); },
      nothing, "swept keys in the shape of a scenario, each with the list of its values");
  declare_shared(f, s);
  declare(f, s.service, s.scenario.cost);
  declare_collective(f, s);
  declare_kernel(f, s);
  declare_edge(f, s);
  declare_training(f, s);
  declare_replay(f, s);
  declare_plan(f, s);
}

const std::vector<std::string>& keys_of(const Scenario::Asked& asked) {
  static const std::vector<std::string> kAll,
      kCollective = {"name", "question", "objective", "hardware", "collective", "cost", "energy"},
      kKernel = {"name", "question", "objective", "hardware", "kernel", "cost", "energy"},
      kEdge = {"name", "question", "edge"}, kReplay = {"name", "question", "hardware", "replay"},
      kTraining = {"name",     "question", "objective", "model", "model_overrides",
                   "hardware", "training", "chance",    "cost",  "energy"},
      kPlan = {"name", "question", "model", "model_overrides", "parallel", "workload",
               "cost", "load",     "slo",   "speculation",     "plan"},
      kRunPlan = {"name", "question", "model",  "model_overrides",
                  "cost", "training", "chance", "plan"};
  if (std::holds_alternative<CollectiveQuestion>(asked)) return kCollective;
  if (std::holds_alternative<KernelQuestion>(asked)) return kKernel;
  if (std::holds_alternative<EdgeQuestion>(asked)) return kEdge;
  if (std::holds_alternative<TrainingQuestion>(asked)) return kTraining;
  if (std::holds_alternative<ReplayQuestion>(asked)) return kReplay;
  if (const auto* q = std::get_if<PlanQuestion>(&asked)) return q->training ? kRunPlan : kPlan;
  return kAll;
}

const std::vector<std::string>& steady_keys() {
  static const std::vector<std::string> keys = {
      "isl", "osl", "batch", "closed_loop", "equal_lengths", "past", "requests_per_user"};
  return keys;
}

const std::vector<std::string>& service_groups() {
  static const std::vector<std::string> groups = [] {
    ServiceQuestion service;
    const CostChoice cost;
    Fields fields;
    declare(fields, service, cost);
    std::vector<std::string> names;
    for (const Field& f : fields.all()) names.push_back(f.name());
    return names;
  }();
  return groups;
}

namespace {

// The run that a scenario asks about, or plans; null: none.
const TrainingQuestion* trained(const Scenario& s) {
  if (const auto* q = s.if_asked<PlanQuestion>()) return q->training ? &*q->training : nullptr;
  return s.if_asked<TrainingQuestion>();
}

// Takes out the keys of a plan that its kind of question does not have, and those of a run that the
// plan chooses.
void keep_planned(const PlanQuestion& q, nlohmann::ordered_json& all) {
  for (const std::string& key : q.training ? plan_keys_of_services() : plan_keys_of_runs())
    all["plan"].erase(key);
  if (q.training) {
    for (const std::string& key : planned_training_keys()) all["training"].erase(key);
  } else {
    for (const std::string& key : planned_parallel_keys()) all["parallel"].erase(key);
  }
}

}  // namespace

ScenarioValues::ScenarioValues(const Scenario& s) : scenario(s) {
  if (const auto* q = s.if_asked<SteadyQuestion>()) steady = *q;
  if (const auto* q = s.if_asked<ServiceQuestion>()) service = *q;
  if (const auto* q = s.if_asked<CollectiveQuestion>()) collective = *q;
  if (const auto* q = s.if_asked<KernelQuestion>()) kernel = *q;
  if (const auto* q = s.if_asked<ReplayQuestion>()) replay = *q;
  if (const auto* q = s.if_asked<EdgeQuestion>()) edge = *q;
  if (const auto* q = s.if_asked<PlanQuestion>()) service = q->service, plan = q->choice;
  if (const TrainingQuestion* q = trained(s)) {
    training = *q;
    if (q->chance) chance = *q->chance;
  }
}

nlohmann::ordered_json to_json(const Scenario& scenario) {
  const LentForm form(scenario);
  const auto* plan = scenario.if_asked<PlanQuestion>();
  const TrainingQuestion* training = trained(scenario);
  const bool loaded =
      (plan != nullptr && !plan->training) || scenario.if_asked<ServiceQuestion>() != nullptr;
  std::set<std::string_view> absent = {"format", "include", "sweep"};
  if (!loaded) absent.insert(service_groups().begin(), service_groups().end());
  if (!scenario.if_asked<CollectiveQuestion>()) absent.insert("collective");
  if (!scenario.if_asked<KernelQuestion>()) absent.insert("kernel");
  if (!scenario.if_asked<EdgeQuestion>()) absent.insert("edge");
  if (training == nullptr) absent.insert({"training", "chance"});
  if (!scenario.if_asked<ReplayQuestion>()) absent.insert("replay");
  if (plan == nullptr) absent.insert("plan");
  if (scenario.objective.empty()) absent.insert("objective");
  if (!scenario.cost.asked()) absent.insert("cost");
  if (!scenario.plant.asked()) absent.insert("energy");
  const std::vector<std::string>& only = keys_of(scenario.asked);
  nlohmann::ordered_json::object_t members;
  members.reserve(form.fields().all().size());
  for (const Field& f : form.fields().all()) {
    const bool of_kind =
        only.empty() || std::find(only.begin(), only.end(), f.name()) != only.end();
    if (of_kind && !absent.contains(f.name())) members.emplace_back(f.name(), f.json());
  }
  nlohmann::ordered_json all = std::move(members);
  if (plan != nullptr) keep_planned(*plan, all);
  if (loaded && all.contains("workload")) {
    for (const std::string& key : steady_keys()) all["workload"].erase(key);
  }
  if (!scenario.hardware.power_limit && all.contains("hardware"))
    all["hardware"].erase("power_limit");
  if (const auto* service = scenario.if_asked<ServiceQuestion>();
      service != nullptr && !service->cluster.power_limit)
    all["cluster"].erase("power_limit");
  if (!scenario.hardware.clock && all.contains("hardware")) all["hardware"].erase("clock");
  if (only.empty()) return all;
  nlohmann::ordered_json out;
  for (const std::string& key : only) {
    if (key == "chance" && training != nullptr && !training->chance) continue;
    if (key == "speculation" && plan != nullptr && !plan->service.speculation.on()) continue;
    if (!all.contains(key)) continue;
    out[key] = std::move(all[key]);
  }
  return out;
}

}  // namespace orrery
