#include "orrery/scenario/question/scenario.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "orrery/scenario/answer/optimum.h"
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

// The same values at the same keys in the same order.
bool same(const Node& a, const Node& b) {
  return a.kind() == b.kind() && a.quoted() == b.quoted() && a.text() == b.text() &&
         a.keys() == b.keys() &&
         std::equal(a.items().begin(), a.items().end(), b.items().begin(), b.items().end(), same);
}

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

void declare_machine(Fields& f, Scenario& s) {
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
}

void declare_parallel(Fields& f, Scenario& s) {
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
}

void declare_precision(Fields& f, Scenario& s) {
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
}

void declare_engine(Fields& f, Scenario& s) {
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
}

void declare_workload(Fields& f, Scenario& s, SteadyQuestion& steady) {
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
}

}  // namespace

bool ServingSetup::EngineChoice::operator==(const EngineChoice& other) const {
  return profile == other.profile && setup == other.setup && same(overrides, other.overrides);
}

const std::vector<std::string>& steady_keys() {
  static const std::vector<std::string> keys = {
      "isl", "osl", "batch", "closed_loop", "equal_lengths", "past", "requests_per_user"};
  return keys;
}

void declare(Fields& f, Scenario& s, SteadyQuestion& batch) {
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
  declare_machine(f, s);
  declare_parallel(f, s);
  declare_precision(f, s);
  declare_engine(f, s);
  declare_workload(f, s, batch);
  f.group(
      "cost", [&](Fields& g) { declare(g, s.cost); },
      "money: the price of the GPUs, which gives the cost of tokens, requests and runs");
  f.group(
      "energy", [&](Fields& g) { declare(g, s.plant, s.cost); },
      "the plant: what counts as power, and the emissions of its electricity");
}

}  // namespace orrery
