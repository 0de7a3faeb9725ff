#include "apps/cli/facts/model_facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

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
    if (const auto* a = std::get_if<SoftmaxAttention>(&layer.mixer)) {
      kinds.emplace_back(a->kv_heads == a->heads ? "MHA" : a->kv_heads == 1 ? "MQA" : "GQA");
      heads.push_back(a->heads), kv_heads.push_back(a->kv_heads), head_dims.push_back(a->head_dim);
      if (a->window > 0) windows.push_back(a->window);
    } else if (const auto* l = std::get_if<LatentAttention>(&layer.mixer)) {
      kinds.emplace_back("MLA");
      heads.push_back(l->heads), head_dims.push_back(l->qk_nope_dim + l->qk_rope_dim);
      j["kv_latent"] =
          fmt::format("{} + {} rotary, shared by all heads", l->kv_lora_rank, l->qk_rope_dim);
    } else if (const auto* c = std::get_if<CompressedAttention>(&layer.mixer)) {
      kinds.emplace_back(c->compress == 0 ? "compressed attention (window alone)"
                         : c->top_k > 0   ? "compressed sparse attention"
                                          : "heavily compressed attention");
      heads.push_back(c->heads), head_dims.push_back(c->head_dim), windows.push_back(c->window);
    } else if (std::holds_alternative<KimiDelta>(layer.mixer)) {
      kinds.emplace_back("linear attention (Kimi delta)");
    } else if (std::holds_alternative<GatedDeltaNet>(layer.mixer)) {
      kinds.emplace_back("linear attention (gated delta rule)");
    } else if (std::holds_alternative<Mamba2>(layer.mixer)) {
      kinds.emplace_back("Mamba-2");
    }
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
  std::string out = kFormats[static_cast<std::size_t>(q.format)];
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

std::string softmax_text(const SoftmaxAttention& a) {
  std::string out = a.window == 0                           ? "full attention"
                    : a.window_kind == WindowKind::kSliding ? fmt::format("window of {}", a.window)
                                                            : fmt::format("chunks of {}", a.window);
  out += fmt::format(" ({}, {} heads of {}", a.kv_heads == a.heads ? "MHA" : "GQA", a.heads,
                     a.head_dim);
  if (a.kv_heads != a.heads) out += fmt::format(" on {} KV", a.kv_heads);
  if (a.shares_kv) out += " of an earlier layer";
  if (a.blocks)
    out += fmt::format(", {} blocks of {} picked", a.blocks->top_blocks, a.blocks->block);
  return out + (a.rope ? ")" : ", without rotation)");
}

std::string latent_text(const LatentAttention& a) {
  std::string out = fmt::format("latent attention ({} heads on a latent of {} + {}", a.heads,
                                a.kv_lora_rank, a.qk_rope_dim);
  if (a.sparse_top_k > 0) out += fmt::format(", {} tokens picked", a.sparse_top_k);
  if (a.sparse_top_k > 0 && !a.indexer) out += " by an earlier layer";
  return out + ")";
}

std::string compressed_text(const CompressedAttention& a) {
  std::string out = fmt::format("window of {}", a.window);
  if (a.compress > 0) {
    const std::string entries = fmt::format("entries of {} tokens", a.compress);
    out += a.top_k > 0 ? fmt::format(" and {} picked {}", a.top_k, entries) : " and all " + entries;
  }
  return out + fmt::format(" (compressed attention, {} heads of {} on 1 KV)", a.heads, a.head_dim);
}

// Empty: the layer has no mixer.
std::string mixer_text(const Mixer& mixer) {
  if (const auto* a = std::get_if<SoftmaxAttention>(&mixer)) return softmax_text(*a);
  if (const auto* l = std::get_if<LatentAttention>(&mixer)) return latent_text(*l);
  if (const auto* c = std::get_if<CompressedAttention>(&mixer)) return compressed_text(*c);
  if (const auto* k = std::get_if<KimiDelta>(&mixer))
    return fmt::format("Kimi delta rule ({} heads of {} x {})", k->heads, k->head_dim, k->head_dim);
  if (const auto* d = std::get_if<GatedDeltaNet>(&mixer))
    return fmt::format("gated delta rule ({} heads of {} x {})", d->v_heads, d->k_dim, d->v_dim);
  if (const auto* s = std::get_if<Mamba2>(&mixer))
    return fmt::format("Mamba-2 ({} heads of {}, state {})", s->heads, s->head_dim, s->state);
  return "";
}

// Empty: the layer has no channel mixer.
std::string mlp_text(const Mlp& mlp) {
  if (const auto* d = std::get_if<DenseMlp>(&mlp)) return fmt::format("MLP of {}", d->intermediate);
  const auto* m = std::get_if<MoeMlp>(&mlp);
  if (m == nullptr) return "";
  std::string out = fmt::format("{} of {} experts of {}", m->top_k, m->experts, m->intermediate);
  if (m->latent > 0) out += fmt::format(" on a latent of {}", m->latent);
  if (m->hash_routing) out += ", by token";
  if (m->shared_intermediate > 0) out += fmt::format(" + shared {}", m->shared_intermediate);
  return out;
}

std::string layer_text(const LayerSpec& layer) {
  std::string out = mixer_text(layer.mixer);
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
    const std::string text = layer_text(stack.specs()[static_cast<std::size_t>(run.spec)]);
    const auto at = std::find(texts.begin(), texts.end(), text);
    const int kind = static_cast<int>(at - texts.begin());
    if (at == texts.end()) texts.push_back(text), layers.push_back(0);
    layers[static_cast<std::size_t>(kind)] += run.count;
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
