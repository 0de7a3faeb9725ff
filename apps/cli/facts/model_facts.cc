#include "apps/cli/facts/model_facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "orrery/base/index.h"
#include "orrery/model/architecture/parameters.h"

namespace orrery::cli {
namespace {

// "128", or "512, 1024" where layers differ; empty: none.
template <class T>
std::string distinct(const std::vector<T>& values) {
  std::vector<T> seen;
  for (const T& v : values)
    if (std::find(seen.begin(), seen.end(), v) == seen.end()) seen.push_back(v);
  return fmt::format("{}", fmt::join(seen, ", "));
}

// The heads, KV heads and windows of the kinds of layers.
void add_attention_facts(const Architecture& m, Json& j) {
  std::vector<int> heads, kv_heads, head_dims, windows;
  std::vector<std::string> kinds;
  for (const LayerSpec& layer : m.layers.specs()) {
    const LayerFacts f = mixer_facts(layer.mixer);
    if (!f.kind.empty()) kinds.push_back(f.kind);
    if (f.heads > 0) heads.push_back(f.heads);
    if (f.kv_heads > 0) kv_heads.push_back(f.kv_heads);
    if (f.head_dim > 0) head_dims.push_back(f.head_dim);
    if (f.window > 0) windows.push_back(f.window);
    if (!f.latent.empty()) j["kv_latent"] = f.latent;
  }
  j["attention"] = distinct(kinds);
  if (!heads.empty()) j["heads"] = distinct(heads);
  if (!kv_heads.empty()) j["kv_heads"] = distinct(kv_heads);
  if (!head_dims.empty()) j["head_dim"] = distinct(head_dims);
  if (!windows.empty()) j["windows"] = distinct(windows);
}

// Residuals that are more than a sum of one stream.
void add_residual_facts(const Architecture& m, Json& j) {
  int streams = 1, sources = 0;
  for (const LayerSpec& layer : m.layers.specs()) {
    streams = std::max(streams, layer.residual_streams);
    sources = std::max(sources, layer.residual_sources);
  }
  if (streams > 1) j["residual"] = fmt::format("{} streams (hyper-connections)", streams);
  if (sources > 0) j["residual"] = fmt::format("attention over {} earlier blocks", sources);
}

// Experts of the mixtures; a dense model has none.
void add_expert_facts(const Architecture& m, Json& j) {
  for (const LayerSpec& layer : m.layers.specs()) {
    const auto* moe = std::get_if<MoeMlp>(&layer.mlp);
    if (moe == nullptr) continue;
    j["experts"] = moe->experts;
    j["experts_active"] = moe->top_k;
    // Shared experts are stored as one matrix. A multiple of the width of a routed expert counts as
    // that many experts.
    const int shared = moe->shared_intermediate;
    j["experts_shared"] = shared == 0                       ? 0
                          : shared % moe->intermediate == 0 ? shared / moe->intermediate
                                                            : 1;
    j["expert_intermediate"] = moe->intermediate;
    return;
  }
}

// "fp8 in blocks of 128 x 128", "int4 in groups of 32, weights only", "bf16".
std::string quantization_text(const StoredFormat& q, Dtype plain) {
  if (q.format == WeightFormat::kPlain) return std::string(to_text(plain));
  constexpr const char* kFormats[] = {"", "fp8", "int8", "int4", "mxfp4", "nvfp4"};
  std::string out = kFormats[index(q.format)];
  if (q.block_rows > 0) out += fmt::format(" in blocks of {} x {}", q.block_rows, q.block_columns);
  if (q.group > 0) out += fmt::format(" in groups of {}", q.group);
  return q.weights_only ? out + ", weights only" : out;
}

// The formats of each part: "bf16", or "bf16 (1.2 B weights in 6 layers); nvfp4 in groups of 16
// (3.4 B weights in 17 layers)".
void add_formats(const Architecture& m, Json& j) {
  j["quantization"] = quantization_text(m.quantization, m.dtype);
  Json formats = Json::object();
  for (const StoredPart& p : m.quantization.parts) {
    std::string text = quantization_text(p.format, m.dtype);
    const bool mixed =
        std::any_of(m.quantization.parts.begin(), m.quantization.parts.end(),
                    [&](const StoredPart& o) { return o.part == p.part && o.format != p.format; });
    if (mixed && p.layers > 0) {
      text +=
          fmt::format(" ({:.2g} B weights in {} layer{})", static_cast<double>(p.elements) / 1e9,
                      p.layers, p.layers == 1 ? "" : "s");
    }
    Json& of_part = formats[std::string(to_text(p.part))];
    of_part = of_part.is_null() ? text : of_part.get<std::string>() + "; " + text;
  }
  j["formats"] = formats;
  if (m.quantization.kv_cache) {
    j["kv_cache"] = *m.quantization.kv_cache == KvFormat::kFp8 ? "fp8" : "nvfp4";
  }
  j["not_quantized"] = m.quantization.skipped;
}

// ---- layers -------------------------------------------------------------------------------------

std::string layer_text(const LayerSpec& layer) {
  std::string out = mixer_facts(layer.mixer).text;
  for (const std::string& part :
       {std::string(layer.cross_attention ? "cross attention" : ""), mlp_text(layer.mlp)}) {
    if (!part.empty()) out += (out.empty() ? "" : "; ") + part;
  }
  return out.empty() ? "nothing" : out;
}

// "A" to "Z", then "A2" and so on.
std::string letter(int spec) {
  const std::string name(1, static_cast<char>('A' + spec % 26));
  return spec < 26 ? name : name + std::to_string(spec / 26 + 1);
}

// The stack as "10 x (5 x A, B), 2 x A": from each place, the repeated group of runs that covers
// the most layers is written once.
std::string order_text(const std::vector<LayerRun>& runs) {
  const auto run_text = [](const LayerRun& r) {
    return r.count == 1 ? letter(r.spec) : fmt::format("{} x {}", r.count, letter(r.spec));
  };
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < runs.size();) {
    std::size_t best_period = 1, best_times = 1;
    for (std::size_t period = 2; at + 2 * period <= runs.size(); ++period) {
      std::size_t times = 1;
      while (at + (times + 1) * period <= runs.size() &&
             std::equal(runs.begin() + static_cast<std::ptrdiff_t>(at),
                        runs.begin() + static_cast<std::ptrdiff_t>(at + period),
                        runs.begin() + static_cast<std::ptrdiff_t>(at + times * period))) {
        ++times;
      }
      if (times > 1 && times * period > best_times * best_period)
        best_period = period, best_times = times;
    }
    std::vector<std::string> group;
    for (std::size_t i = 0; i < best_period; ++i) group.push_back(run_text(runs[at + i]));
    parts.push_back(best_times == 1 ? group.front()
                                    : fmt::format("{} x ({})", best_times, fmt::join(group, ", ")));
    at += best_period * best_times;
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

// The kinds that differ in nothing printed are one kind.
void add_layer_facts(const LayerStack& stack, const std::string& prefix, Json& j) {
  if (stack.empty()) return;
  std::vector<std::string> texts;  // of each kind
  std::vector<int> layers;
  std::vector<LayerRun> runs;
  for (const LayerRun& run : stack.runs()) {
    const std::string text = layer_text(stack.specs()[index(run.spec)]);
    const auto at = std::find(texts.begin(), texts.end(), text);
    const int kind = static_cast<int>(at - texts.begin());
    if (at == texts.end()) texts.push_back(text), layers.push_back(0);
    layers[index(kind)] += run.count;
    if (!runs.empty() && runs.back().spec == kind) {
      runs.back().count += run.count;
    } else {
      runs.push_back({kind, run.count});
    }
  }
  j[prefix + "_order"] = order_text(runs);
  Json kinds = Json::object();
  for (std::size_t k = 0; k < texts.size(); ++k)
    kinds[letter(static_cast<int>(k))] = fmt::format("{} x {}", layers[k], texts[k]);
  j[prefix + "_kinds"] = kinds;
}

}  // namespace

Json model_facts(const Architecture& m, const std::string& id) {
  const ParameterCounts c = count_parameters(m);
  Json j = {{"id", id},
            {"family", m.family},
            {"parameters", c.total()},
            {"active_parameters", c.active()},
            {"embedding_parameters", c.embedding},
            {"layers", m.layers.size()},
            {"hidden", m.hidden},
            {"vocab", m.vocab},
            {"max_context", m.max_context},
            {"dtype", std::string(to_text(m.dtype))}};
  add_attention_facts(m, j);
  add_expert_facts(m, j);
  add_residual_facts(m, j);
  for (const Tower& tower : m.towers) j[tower.name + "_tower_parameters"] = tower.parameters;
  add_layer_facts(m.encoder, "encoder_layer", j);
  add_layer_facts(m.layers, "layer", j);
  j["checkpoint_bytes"] = static_cast<std::int64_t>(checkpoint_bytes(m).value());
  if (m.quantization.format != WeightFormat::kPlain) add_formats(m, j);
  if (!m.notes.empty()) j["notes"] = m.notes;
  return j;
}

}  // namespace orrery::cli
