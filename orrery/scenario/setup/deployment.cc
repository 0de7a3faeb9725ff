#include "orrery/scenario/setup/deployment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "orrery/memory/kv_groups.h"
#include "orrery/scenario/document/scenario_json.h"
#include "orrery/scenario/setup/layer_kinds.h"
#include "orrery/serving/profile/engine_profile.h"
#include "orrery/serving/schedulers/scheduler_kinds.h"
#include "orrery/workload/plan/by_memory.h"

namespace orrery {
namespace {

// The reader of a scenario refuses unknown names with their place. These checks are for scenarios
// that code has built.
Format format_of(const std::string& text) {
  if (const auto f = parse_format(text)) return *f;
  throw InputError(fmt::format("precision: '{}' is no format of weights", text));
}

Dtype dtype_of(const std::string& text) {
  if (const auto d = parse_dtype(text)) return *d;
  throw InputError(fmt::format("precision: '{}' is no number format", text));
}

bool is_plain(Format f) {
  return f == Format::kFp32 || f == Format::kTf32 || f == Format::kFp16 || f == Format::kBf16;
}

// Formats of the checkpoint, changed by what the scenario asks and by what the GPU has.
Precision choose_precision(const Scenario& s, const Architecture& model, const Gpu& gpu,
                           std::vector<std::string>& notes) {
  Precision p = native_precision(model);
  const auto& asked = s.precision;
  Dtype plain = asked.dtype.empty() ? p.activations : dtype_of(asked.dtype);
  if (asked.dtype.empty() && gpu.compute_dtype(plain) != plain) {
    notes.push_back(fmt::format("{} does not support {}: {} is used", gpu.id, to_text(plain),
                                to_text(gpu.compute_dtype(plain))));
    plain = gpu.compute_dtype(plain);
  }
  if (gpu.compute_dtype(plain) != plain) {
    throw NoData(fmt::format("{} does not support {}; it would compute in {}", gpu.id,
                             to_text(plain), to_text(gpu.compute_dtype(plain))));
  }
  p.activations = p.attention = plain;
  if (p.kv_cache != Dtype::kFp8) p.kv_cache = plain;
  for (Format* f : {&p.weights, &p.experts, &p.lm_head}) {
    if (is_plain(*f)) *f = plain_format(plain);
  }
  if (!asked.quantization.empty()) {
    p.weights = format_of(asked.quantization);
    p.experts = p.weights;
    p.mixers.reset();
    p.kv_cache = plain;
    if (properties(p.weights).gguf)
      p.lm_head = p.weights;  // GGUF quantises the output matrix too (to 6 bits)
  } else if (!is_plain(p.weights) || !is_plain(p.experts)) {
    notes.push_back(fmt::format("weights as the checkpoint has them: {}, experts {}",
                                properties(p.weights).name, properties(p.experts).name));
  }
  if (!asked.moe_quantization.empty()) p.experts = format_of(asked.moe_quantization);
  if (!asked.kv_cache_dtype.empty() && asked.kv_cache_dtype != "auto")
    p.kv_cache = dtype_of(asked.kv_cache_dtype);
  else if (p.kv_cache != plain)
    notes.push_back(
        fmt::format("KV cache as the checkpoint or its engines have it: {}", to_text(p.kv_cache)));
  for (Format f : {p.weights, p.experts}) {
    const Dtype arithmetic = properties(f).arithmetic;
    if (is_plain(f) || gpu.compute_dtype(arithmetic) == arithmetic) continue;
    notes.push_back(fmt::format(
        "{} has no {} arithmetic: {} weights are stored so and multiplied in {}", gpu.id,
        to_text(arithmetic), properties(f).name, to_text(gpu.compute_dtype(arithmetic))));
    break;
  }
  return p;
}

// Whether KV blocks outside of sliding windows are freed. The scheduler must do so, and nothing in
// the question may prevent it.
bool frees_outside_windows(const EngineUse& use, const EngineProfile& engine) {
  const WindowPools pools =
      engine.memory.window_share > 0 ? WindowPools::kSeparate : WindowPools::kShared;
  return engine.memory.hybrid_kv_cache &&
         scheduler_kind(engine.scheduler.policy).traits.windows == pools &&
         use.frees_outside_windows;
}

// Whether the scenario overrides this key of the profile.
bool is_overridden(const Scenario& s, std::string_view group, std::string_view key) {
  const Node* asked = s.engine.overrides.find(group);
  return asked != nullptr && asked->find(key) != nullptr;
}

void limit_graphs(const Scenario& s, const EngineUse& use, EngineProfile& engine) {
  auto& x = engine.execution;
  if (x.graph_tokens_per_sequence == 0 || is_overridden(s, "execution", "graph_tokens")) return;
  x.graph_tokens =
      std::min(x.graph_tokens, x.graph_tokens_per_sequence * engine.scheduler.max_num_seqs *
                                   use.tokens_per_sequence);
}

// Starts the engine as the scenario says, with the defaults that it takes on the GPU.
void start(const Scenario& s, const Gpu& gpu, EngineProfile& engine) {
  apply_setup(engine,
              s.engine.setup.empty() ? EngineSetup::kDefault : parse_engine_setup(s.engine.setup));
  auto& scheduler = engine.scheduler;
  if (scheduler.small_gpu_below > Bytes(0) &&
      (gpu.memory.capacity < scheduler.small_gpu_below || gpu.architecture.small_gpu_defaults)) {
    scheduler.max_num_batched_tokens = scheduler.small_gpu_batched_tokens;
    scheduler.max_num_seqs = scheduler.small_gpu_num_seqs;
  }
}

// Fills in the defaults that depend on the memory of the device.
void fill_by_memory(const Scenario& s, const Gpu& gpu, EngineProfile& engine) {
  const auto fill = [&](const std::string& text, std::string_view group, std::string_view key,
                        std::int64_t& value) {
    if (!text.empty() && !is_overridden(s, group, key))
      value = by_memory(text, gpu.memory.capacity, s.parallel.tp);
  };
  auto& x = engine.execution;
  auto& scheduler = engine.scheduler;
  fill(x.graph_tokens_by_memory, "execution", "graph_tokens", x.graph_tokens);
  fill(scheduler.batched_tokens_by_memory, "scheduler", "max_num_batched_tokens",
       scheduler.max_num_batched_tokens);
}

// Widens the intervals of a model with layers of which no service was measured on the engine.
// `fitted`: the step error of the measured services. The error of plain starts, which is that of
// models of all kinds, is not widened if it is larger. Decode context parallelism was measured with
// no engine, and widens all of them.
void widen_unseen(const Architecture& model, double fitted, int cp, EngineProfile& engine,
                  std::vector<std::string>& notes) {
  if (cp > 1) {
    engine.step_error = std::hypot(engine.step_error, engine.unseen_error);
    notes.push_back(
        "wider intervals: no service with decode context parallelism (parallel.cp) was measured");
  }
  const auto& seen = engine.fitted_layers;
  std::vector<std::string> unseen = layer_kinds(model);
  std::erase_if(unseen, [&seen](const std::string& kind) {
    return std::find(seen.begin(), seen.end(), kind) != seen.end();
  });
  if (seen.empty() || unseen.empty() || engine.unseen_error == 0) return;
  engine.step_error = std::max(engine.step_error, std::hypot(fitted, engine.unseen_error));
  notes.push_back(
      fmt::format("wider intervals: no service of a model with {} layers was measured on engine {}",
                  fmt::join(unseen, " and "), engine.id));
}

// How the engine is started, where its profile tells the ways apart.
void note_setup(const Scenario& s, const EngineProfile& engine, std::vector<std::string>& notes) {
  if (engine.setups.plain.empty() && engine.setups.tuned.empty()) return;
  const bool tuned = s.engine.setup == engine_setup_names()[1];
  notes.push_back(fmt::format(
      "engine started {}{}",
      tuned ? "as a vendor's recipe or a benchmark tunes it" : "with its model and layout alone",
      s.engine.setup.empty() ? "; the intervals cover a tuned one, too (engine.setup, "
                               "--engine-setup)"
                             : ""));
}

}  // namespace

Deployment make_deployment(const Scenario& s, const Architecture& model, const Gpu& gpu,
                           const EngineProfile& engine, const EngineUse& use) {
  Deployment d;
  d.gpu = gpu;
  d.engine = engine;
  start(s, gpu, d.engine);
  override_keys(d.engine, s.engine.overrides);
  fill_by_memory(s, gpu, d.engine);
  limit_graphs(s, use, d.engine);
  auto& x = d.engine.execution;
  if (x.frontend_in_process) {
    x.host_per_step += x.in_process_per_rank * static_cast<double>(s.parallel.tp);
    x.host_per_sequence += x.in_process_per_sequence;
  }
  if (d.gpu.architecture.older_host) {
    for (Seconds* t : {&x.launch, &x.graph_launch, &x.host_per_step, &x.host_per_sequence,
                       &x.host_per_layer, &x.host_per_moe_layer}) {
      *t *= x.older_host_factor;
    }
  }
  auto& kernels = d.engine.kernels;
  if (kernels.unit_bandwidth > BytesPerSecond(0) && d.gpu.compute_units > 0) {
    constexpr double kBlend = 4;
    const double ratio = d.gpu.memory.bandwidth / (kernels.unit_bandwidth * d.gpu.compute_units);
    kernels.memory_factor *= std::pow(1 + std::pow(ratio, kBlend), 1 / kBlend);
  }
  if (kernels.measured_unit_bandwidth > BytesPerSecond(0) && d.gpu.compute_units > 0)
    kernels.memory_factor *= std::max(
        1.0, d.gpu.memory.bandwidth / (kernels.measured_unit_bandwidth * d.gpu.compute_units));
  // The dies of a card are devices that share its heads.
  kernels.split_decode_queries *= d.gpu.dies;
  if (d.gpu.architecture.splits_mixed_batches) kernels.mixed_decode_exponent = 0;
  if (!frees_outside_windows(use, d.engine)) d.engine.memory.hybrid_kv_cache = false;
  d.notes.insert(d.notes.end(), model.notes.begin(), model.notes.end());
  d.precision = choose_precision(s, model, d.gpu, d.notes);
  if (kernels.tf32 && d.gpu.supports(Dtype::kTf32)) d.precision.fp32_products = Format::kTf32;
  const auto& k = d.engine.kernels;
  d.classes = {k.gemm,       k.attention, k.moe, k.mla, k.linear_attention, k.sparse_attention,
               k.scaled_gemm};
  note_unknown(d.gpu.architecture, d.notes);
  if (!d.gpu.unsure.empty()) {
    d.notes.push_back(
        fmt::format("uncertain in {}'s data sheet: {}", d.gpu.id, fmt::join(d.gpu.unsure, ", ")));
  }
  d.notes.push_back(fmt::format(
      "engine {} ({}); kernel classes: gemm {}, attention {}, moe {}, mla {}; all-reduce {}",
      d.engine.id, d.engine.version, k.gemm, k.attention, k.moe, k.mla, k.collectives));
  note_setup(s, d.engine, d.notes);
  if (!s.engine.overrides.find("step_error"))
    widen_unseen(model, engine.step_error, s.parallel.cp, d.engine, d.notes);
  d.notes.push_back(
      fmt::format("formats: weights {}, experts {}, lm head {}, activations {}, KV cache {}",
                  properties(d.precision.weights).name, properties(d.precision.experts).name,
                  properties(d.precision.lm_head).name, to_text(d.precision.activations),
                  to_text(d.precision.kv_cache)));
  if (const KvGroups g = kv_groups(model, d.engine.memory, 1); g.windowed > 0) {
    const int groups = g.full_groups() + g.windowed_groups();
    d.notes.push_back(
        g.separate_pools()
            ? fmt::format("KV cache in two pools: layers with a window of {} tokens have {:.6g} "
                          "times as many tokens as the others",
                          g.window, g.window_share)
            : fmt::format("KV cache in {} group{} of layers; {} {} a window of {} tokens, outside "
                          "of which blocks are freed",
                          groups, groups > 1 ? "s" : "", g.windowed_groups(),
                          g.windowed_groups() > 1 ? "have" : "has", g.window));
  }
  return d;
}

namespace {

// The constants of an engine as a document. Declaring the keys takes longer than an estimate, so
// that each thread does it once.
nlohmann::ordered_json constants_of(const EngineProfile& engine) {
  struct Form {
    Form() { declare(fields, profile); }
    EngineProfile profile;
    Fields fields;
  };
  thread_local Form form;
  form.profile = engine;
  return form.fields.json();
}

}  // namespace

nlohmann::ordered_json Deployment::resolved(const Scenario& scenario) const {
  nlohmann::ordered_json out = to_json(scenario);
  out["engine"]["constants"] = constants_of(engine);
  out["hardware"]["gpu"] = gpu.id;
  out["precision"] = {{"weights", std::string(properties(precision.weights).name)},
                      {"experts", std::string(properties(precision.experts).name)},
                      {"lm_head", std::string(properties(precision.lm_head).name)},
                      {"activations", std::string(to_text(precision.activations))},
                      {"attention", std::string(to_text(precision.attention))},
                      {"kv_cache", std::string(to_text(precision.kv_cache))}};
  return out;
}

}  // namespace orrery
