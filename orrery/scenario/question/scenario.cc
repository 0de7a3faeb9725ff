#include "orrery/scenario/question/scenario.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "orrery/scenario/question/chance_question.h"
#include "orrery/scenario/question/format_field.h"
#include "orrery/scenario/question/scenario_file.h"
#include "orrery/scenario/question/scenario_sweep.h"
#include "orrery/workload/ops/format.h"

namespace orrery {

namespace {
constexpr int kFormatMajor = 1, kFormatMinor = 0;  // kScenarioFormat
constexpr std::int64_t kLongestContext = 100'000'000;
constexpr int kMostHeads = 100'000;
constexpr std::int64_t kMostRanks = 100'000;

// Keys of `workload` that a simulated service has in `load`, and groups that only it has.
constexpr const char* kSteadyKeys[] = {
    "isl", "osl", "batch", "closed_loop", "equal_lengths", "past", "requests_per_user"};
constexpr const char* kServiceGroups[] = {"load",     "cluster",  "disaggregation", "autoscale",
                                          "failures", "slo",      "speculation",    "lora",
                                          "kv",       "neighbour"};

const std::vector<std::string> kCollectiveKeys = {"name", "question", "hardware", "collective"};
const std::vector<std::string> kKernelKeys = {"name", "question", "hardware", "kernel"};
const std::vector<std::string> kTrainingKeys = {"name",     "question", "model", "model_overrides",
                                                "hardware", "training", "chance"};

void allow_only(const Node& document, const std::vector<std::string>& allowed, const char* what) {
  for (std::size_t i = 0; i < document.keys().size(); ++i) {
    const std::string& key = document.keys()[i];
    if (key == "format") continue;
    if (std::find(allowed.begin(), allowed.end(), key) == allowed.end()) {
      document.items()[i].fail(fmt::format("a scenario with {} has no such key; it has {}", what,
                                           fmt::join(allowed, ", ")));
    }
  }
}

// A collective has no model and nothing that belongs to one.
void check_collective(const Node& document, const Scenario& s) {
  allow_only(document, kCollectiveKeys, "a collective");
  const bool hardware = !s.hardware.gpu.empty() || !s.hardware.node.empty();
  const bool topology = !s.collective.flow.topology.empty();
  if (!s.collective.nodes.empty()) {
    if (hardware || topology || s.collective.gpus_given) {
      document.at("collective")
          .at("nodes")
          .fail("says where all GPUs are: no hardware, topology or gpus beside it");
    }
    return;
  }
  if (!hardware && !topology)
    document.fail(
        "a collective needs hardware.gpu (--gpu), hardware.node (--node), collective.nodes "
        "(--nodes) or a topology (--topology)");
}

// A kernel runs on one GPU, whatever is beside it.
void check_kernel(const Node& document, const Scenario& s) {
  allow_only(document, kKernelKeys, "a kernel");
  const Node& hardware = document.at("hardware");
  hardware.at("gpu");
  const Node* node = hardware.find("node");
  if (node && !s.hardware.node.empty()) node->fail("a kernel runs on one GPU, in any node");
}

// Keys of every question; those of simulations and of collectives follow them.
void declare_shared(Fields& f, Scenario& s) {
  f.add("name", s.name, "name of the scenario, repeated in the answer");
  f.add("question", s.question, "the question in a sentence");
  f.add("model", s.model, "bundled id, Hugging Face id, or path to a config.json");
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
              "node type, or the network between the usual nodes of the GPU (ib-hdr); empty: the "
              "usual node type of the GPU")
            .alias("fabric");
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
                   "format of the KV cache; empty or auto: as dtype");
      },
      "number formats");
  f.group(
      "engine",
      [&](Fields& g) {
        g.add("profile", s.engine.profile, "engine id");
        g.custom(
            "overrides", Field::Type::kGroup, [&](const Node& n) { s.engine.overrides = n; },
            [] { return nlohmann::ordered_json::object(); },
            "constants of the engine's profile that differ");
      },
      "the serving engine");
  f.group(
      "workload",
      [&](Fields& g) {
        auto& w = s.workload;
        add_sweep(g, "isl", w.isl, 1, kLongestContext, "prompt tokens")
            .unit("tokens")
            .alias("input_len");
        add_sweep(g, "osl", w.osl, 1, kLongestContext, "output tokens")
            .unit("tokens")
            .alias("output_len");
        add_sweep(g, "batch", w.batch, 1, 10'000'000,
                  "requests that are processed at the same time")
            .unit("requests")
            .alias("batch_size")
            .alias("concurrency");
        g.add("closed_loop", w.closed_loop,
              "users send their next request as soon as one ends; false: one batch is processed "
              "once");
        g.add("requests_per_user", w.requests_per_user,
              "closed loop: requests per user; all users send their first request at time 0; 0: "
              "unlimited")
            .range(0, 1e9)
            .needs("workload.closed_loop", [&w] { return w.closed_loop; });
        g.add("equal_lengths", w.equal_lengths,
              "closed loop: all requests have exactly these lengths, so that the users stay in "
              "step; false: the lengths scatter around them")
            .needs("workload.closed_loop", [&w] { return w.closed_loop; });
        g.add("max_model_len", w.max_model_len,
              "longest sequence for which the KV cache is planned; 0: isl + osl")
            .unit("tokens")
            .range(0, kLongestContext);
        g.add("past", w.past, "tokens of the prompt that are in the prefix cache already")
            .unit("tokens")
            .range(0, kLongestContext);
        g.add("expert_skew", w.expert_skew,
              "exponent of the power law by which tokens are spread over experts; 0: balanced")
            .range(0, 3)
            .needs("a model with experts");
      },
      "workload");
}

void declare_collective(Fields& f, Scenario& s) {
  f.group(
      "collective", [&](Fields& g) { declare(g, s.collective); },
      "a single collective, without a model");
}

void declare_kernel(Fields& f, Scenario& s) {
  f.group("kernel", [&](Fields& g) { declare(g, s.kernel); }, "a single kernel, without a model");
}

void declare_training(Fields& f, Scenario& s) {
  f.group("training", [&](Fields& g) { declare(g, s.training); }, "an iteration of training");
  f.group(
      "chance", [&](Fields& g) { declare(g, s.training.chance); },
      "variability, failures and checkpoints of a training run");
}

}  // namespace

void declare(Fields& f, Scenario& s) {
  const auto nothing = [] { return nlohmann::ordered_json(nullptr); };
  f.custom(
      "format", Field::Type::kText, [](const Node&) {}, nothing,
      "version of this form that the file is written for, such as 1.0; a newer one than the "
      "program's is refused");
  f.custom(
      "include", Field::Type::kText,
      [](const Node& n) { n.fail("only a file can include another; flags cannot"); }, nothing,
      "another scenario file, beside this one: its keys are taken where this one has none");
  f.custom(
      "sweep", Field::Type::kGroup, [](const Node& n) { n.fail("a sweep within a sweep"); },
      nothing, "keys as they stand in a scenario, each with the values that it takes in turn");
  declare_shared(f, s);
  declare(f, s.service);
  declare_collective(f, s);
  declare_kernel(f, s);
  declare_training(f, s);
}

nlohmann::ordered_json to_json(const Scenario& scenario) {
  Scenario copy = scenario;
  Fields fields;
  declare_shared(fields, copy);
  const std::vector<std::string>* only = nullptr;  // its groups, where it has no others
  switch (scenario.kind) {
    case Scenario::Kind::kSteady:
      break;
    case Scenario::Kind::kService:
      declare(fields, copy.service);
      break;
    case Scenario::Kind::kCollective:
      declare_collective(fields, copy), only = &kCollectiveKeys;
      break;
    case Scenario::Kind::kKernel:
      declare_kernel(fields, copy), only = &kKernelKeys;
      break;
    case Scenario::Kind::kTraining:
      declare_training(fields, copy), only = &kTrainingKeys;
      break;
  }
  nlohmann::ordered_json out = fields.json();
  const nlohmann::ordered_json sweep = sweep_json(scenario);
  if (only) {
    nlohmann::ordered_json asked;
    for (const std::string& key : *only)
      if (key != "chance" || scenario.training.chanced) asked[key] = out[key];
    if (!sweep.is_null()) asked["sweep"] = sweep;
    return asked;
  }
  if (scenario.kind == Scenario::Kind::kService)
    for (const char* key : kSteadyKeys) out["workload"].erase(key);
  if (!sweep.is_null()) out["sweep"] = sweep;
  return out;
}

void check_format(const Node& document) {
  const Node* format = document.find("format");
  if (format == nullptr) return;
  const std::string& text = format->text();
  int major = 0, minor = 0;
  const char* const end = text.data() + text.size();
  auto read = std::from_chars(text.data(), end, major);
  const bool has_minor = read.ec == std::errc() && read.ptr != end && *read.ptr == '.';
  if (has_minor) read = std::from_chars(read.ptr + 1, end, minor);
  if (read.ec != std::errc() || read.ptr != end || major < 1 || minor < 0)
    format->fail(fmt::format("expected a version such as {}, got '{}'", kScenarioFormat, text));
  if (major > kFormatMajor || (major == kFormatMajor && minor > kFormatMinor)) {
    format->fail(fmt::format("the file is written for format {}; this program reads {} and older",
                             text, kScenarioFormat));
  }
}

Scenario read_scenario(const Node& document) {
  if (document.is_map()) check_format(document);
  if (const Node* suite = document.find("suite"))
    suite->fail("this is a suite of questions, not a scenario; orrery suite run FILE answers it");
  if (document.find("sweep")) return read_swept_scenario(document);
  Scenario s;
  Fields fields;
  declare(fields, s);
  if (document.is_null() || (document.is_map() && document.keys().empty())) document.at("model");
  fields.read(document);
  s.of_the_model = fields.undecided(document);
  if (document.find("collective")) {
    s.kind = Scenario::Kind::kCollective;
    s.collective.gpus_given = document.at("collective").find("gpus") != nullptr;
    check_collective(document, s);
    return s;
  }
  if (document.find("kernel")) {
    s.kind = Scenario::Kind::kKernel;
    check_kernel(document, s);
    return s;
  }
  document.at("model");
  document.at("hardware").at("gpu");
  if (document.find("training")) {
    s.kind = Scenario::Kind::kTraining;
    allow_only(document, kTrainingKeys, "a training");
    s.training.chanced = document.find("chance") != nullptr;
    return s;
  }
  if (const Node* n = document.find("chance")) n->fail("chance belongs to a training");
  if (!document.find("load")) {
    for (const char* group : kServiceGroups) {
      if (const Node* n = document.find(group))
        n->fail(fmt::format("{} is simulated: it needs a load", group));
    }
    return s;
  }
  s.kind = Scenario::Kind::kService;
  if (const Node* w = document.find("workload")) {
    for (const char* key : kSteadyKeys) {
      if (const Node* n = w->find(key))
        n->fail("a scenario with a load is simulated: its lengths stand in load.isl and load.osl");
    }
  }
  return s;
}

Scenario read_scenario(const std::filesystem::path& file) {
  return named(read_scenario(read_scenario_document(file)), file.stem().string());
}

}  // namespace orrery
