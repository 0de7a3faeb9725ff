// Gemma 1 to 4. Embeddings are tied (the default of the classes; the configs do not say). Gemma 4
// has two kinds of attention with head sizes of their own, per-layer inputs, shared caches, and
// experts beside the dense MLP.
#include <fmt/format.h>

#include "orrery/base/index.h"
#include "orrery/model/families/hf_families.h"

namespace orrery {
namespace {

// Layers for which `is_local(i)` holds have the window. layer_types, where given, decides instead.
template <class IsLocal>
void append_layers(const HfConfig& c, Architecture& m, SoftmaxAttention a, int norms, int window,
                   IsLocal is_local) {
  const int layers = layer_count(c);
  const std::vector<bool> types = read_layer_types(c, layers, "sliding_attention");
  LayerSpec layer;
  layer.mlp = read_gated_mlp(c, "gelu_pytorch_tanh");
  layer.norms = norms;
  for (int i = 0; i < layers; ++i) {
    const bool local = types.empty() ? is_local(i) : types[index(i)];
    a.window = local ? window : 0;
    layer.mixer = a;
    m.layers.append(layer);
  }
}

SoftmaxAttention gemma_attention(const HfConfig& c, int hidden) {
  SoftmaxAttention a = read_attention(c, hidden);
  const bool bias = c.flag_or({"attention_bias"}, false);
  set_bias(a, bias, bias);
  return a;
}

struct Gemma4Attention {
  SoftmaxAttention local, full;
};

// Full layers have heads of global_head_dim. With attention_k_eq_v they also have
// num_global_key_value_heads KV heads, whose keys are their values.
Gemma4Attention attention_kinds(const HfConfig& c, int hidden) {
  Gemma4Attention kinds;
  kinds.local = read_attention(c, hidden);
  const bool bias = c.flag_or({"attention_bias"}, false);
  set_bias(kinds.local, bias, bias);
  kinds.local.qk_norm = QkNorm::kPerHead;
  kinds.local.window = c.size({"sliding_window"}, limit::kContext);
  const bool same = c.flag_or({"attention_k_eq_v"}, false);
  const int kv_heads =
      same ? c.size_or({"num_global_key_value_heads"}, kinds.local.kv_heads, limit::kHeads)
           : kinds.local.kv_heads;
  kinds.full =
      make_attention(c, kinds.local.heads, kv_heads,
                     c.size_or({"global_head_dim"}, kinds.local.head_dim, limit::kHeadDim));
  set_bias(kinds.full, bias, bias);
  kinds.full.qk_norm = QkNorm::kPerHead;
  kinds.full.values_from_keys = same;
  return kinds;
}

// The dense MLP, or the experts with the dense MLP in the place of a shared expert: both read the
// same hidden state and their outputs are added.
Mlp gemma4_mlp(const HfConfig& c, bool doubled) {
  DenseMlp dense = read_gated_mlp(c, "gelu_pytorch_tanh");
  if (doubled) dense.intermediate *= 2;
  if (!c.flag_or({"enable_moe_block"}, false)) return dense;
  MoeMlp moe = make_moe(c, {"num_experts"}, {"top_k_experts"}, {"moe_intermediate_size"});
  moe.activation = dense.activation;
  moe.shared_intermediate = dense.intermediate;
  moe.norm_topk = true;
  moe.router_scales = true;
  return moe;
}

}  // namespace

Architecture read_gemma(const HfConfig& c) {
  Architecture m = read_common(c, {.tied = true});
  append_layers(c, m, gemma_attention(c, m.hidden), 2, 0, [](int) { return false; });
  return m;
}

// Every other layer has the window, beginning with the first; norms before and after both halves.
Architecture read_gemma2(const HfConfig& c) {
  Architecture m = read_common(c, {.tied = true});
  const int window = c.size({"sliding_window"}, limit::kContext);
  append_layers(c, m, gemma_attention(c, m.hidden), 4, window, [](int i) { return i % 2 == 0; });
  return m;
}

// Five layers with the window, then one without. The released text_configs leave keys out; the
// defaults of the class: vocab_size 262208, max_position_embeddings 131072, num_attention_heads 8,
// num_key_value_heads 4, head_dim 256, sliding_window_pattern 6, hidden_activation
// gelu_pytorch_tanh.
Architecture read_gemma3(const HfConfig& c) {
  Architecture m = read_common(c, {.tied = true, .context = 131072, .vocab = 262208});
  const int heads = c.size_or({"num_attention_heads"}, 8, limit::kHeads);
  const int kv_heads = c.size_or({"num_key_value_heads"}, 4, limit::kHeads);
  SoftmaxAttention a =
      make_attention(c, heads, kv_heads, c.size_or({"head_dim"}, 256, limit::kHeadDim));
  a.qk_norm = QkNorm::kPerHead;
  const int window = c.size({"sliding_window"}, limit::kContext);
  const int pattern =
      c.size_or({"sliding_window_pattern", "_sliding_window_pattern"}, 6, limit::kLayers);
  append_layers(c, m, a, 4, window, [pattern](int i) { return (i + 1) % pattern != 0; });
  return m;
}

// The last num_kv_shared_layers layers read the cache of the last layer of their kind before them
// and, with use_double_wide_mlp, have an MLP twice as wide. Experts bring three further norms. A
// scale of each layer (layer_scalar) is a buffer and is not counted. Source: modeling_gemma4.py of
// transformers.
Architecture read_gemma4(const HfConfig& c) {
  Architecture m = read_common(c, {.tied = true, .context = 131072, .vocab = 262144});
  const int layers = layer_count(c);
  const Gemma4Attention kinds = attention_kinds(c, m.hidden);
  const std::vector<bool> local = read_layer_types(c, layers, "sliding_attention");
  const int first_shared = layers - c.count_or({"num_kv_shared_layers"}, 0, layers - 1);
  const bool wide = c.flag_or({"use_double_wide_mlp"}, false);
  LayerSpec layer;
  layer.norms = c.flag_or({"enable_moe_block"}, false) ? 7 : 4;
  layer.per_layer_input = c.count_or({"hidden_size_per_layer_input"}, 0, limit::kHidden);
  for (int i = 0; i < layers; ++i) {
    // Five layers with the window and one without (the default of the class).
    const bool window = local.empty() ? (i + 1) % 6 != 0 : local[index(i)];
    SoftmaxAttention a = window ? kinds.local : kinds.full;
    a.shares_kv = i >= first_shared;
    layer.mixer = a;
    layer.mlp = gemma4_mlp(c, wide && a.shares_kv);
    m.layers.append(layer);
  }
  if (layer.per_layer_input > 0) {
    m.per_layer_vocab = c.size_or({"vocab_size_per_layer_input"}, m.vocab, limit::kVocab);
  }
  read_towers(c, m);
  return m;
}

}  // namespace orrery
