// Mixtures of experts with softmax attention: Mixtral, Llama 4, GLM-4.5 to 4.7, gpt-oss.
#include <algorithm>

#include "orrery/base/index.h"
#include "orrery/model/families/hf_families.h"

namespace orrery {

Architecture read_mixtral(const HfConfig& c) {
  Architecture m = read_common(c);
  SoftmaxAttention a = read_attention(c, m.hidden);
  a.window = c.count_or({"sliding_window"}, 0, limit::kContext);
  MoeMlp moe = make_moe(c, {"num_local_experts"}, {"num_experts_per_tok"}, {"intermediate_size"});
  moe.activation = read_activation(c, {"hidden_act"});
  moe.norm_topk = true;
  LayerSpec layer;
  layer.mixer = a;
  layer.mlp = moe;
  m.layers.append(layer, layer_count(c));
  return m;
}

// Experts in every interleave_moe_layer_step-th layer, with a shared expert of the same size; the
// other layers have a dense MLP of intermediate_size_mlp. Every fourth layer sees the whole context
// and has no rotary embedding; the others attend within chunks. no_rope_layers (1: with rotary)
// replaces "every fourth".
Architecture read_llama4(const HfConfig& c) {
  Architecture m = read_common(c);
  SoftmaxAttention a = read_attention(c, m.hidden);
  const bool bias = c.flag_or({"attention_bias"}, false);
  set_bias(a, bias, bias);
  a.window_kind = WindowKind::kChunked;
  const bool qk_norm = c.flag_or({"use_qk_norm"}, true);
  const int chunk = c.count_or({"attention_chunk_size"}, 0, limit::kContext);
  const int layers = layer_count(c);
  const int step = c.size_or({"interleave_moe_layer_step"}, 1, limit::kLayers);

  std::vector<int> rope;
  if (c.has({"no_rope_layers"})) rope = c.counts({"no_rope_layers"}, 1);
  if (rope.empty()) {
    for (int i = 0; i < layers; ++i) rope.push_back((i + 1) % 4 != 0);
  }
  check_per_layer(c, {"no_rope_layers"}, rope.size(), layers);

  MoeMlp moe = make_moe(c, {"num_local_experts"}, {"num_experts_per_tok"}, {"intermediate_size"});
  moe.activation = read_activation(c, {"hidden_act"});
  moe.shared_intermediate = moe.intermediate;
  DenseMlp dense;
  dense.intermediate = c.size({"intermediate_size_mlp"}, limit::kIntermediate);
  dense.gated = true;
  dense.activation = moe.activation;

  LayerSpec layer;
  for (int i = 0; i < layers; ++i) {
    a.rope = rope[index(i)] != 0;
    a.window = a.rope ? chunk : 0;
    a.qk_norm = qk_norm && a.rope ? QkNorm::kUnweighted : QkNorm::kNone;
    layer.mixer = a;
    if ((i + 1) % step == 0) {
      layer.mlp = moe;
    } else {
      layer.mlp = dense;
    }
    m.layers.append(layer);
  }
  return m;
}

// Dense MLP in the first layers, then experts chosen by score plus correction, and shared experts.
Architecture read_glm4_moe(const HfConfig& c) {
  Architecture m = read_common(c);
  SoftmaxAttention a = read_attention(c, m.hidden);
  set_bias(a, c.flag_or({"attention_bias"}, false), false);
  if (c.flag_or({"use_qk_norm"}, false)) a.qk_norm = QkNorm::kPerHead;
  MoeMlp moe =
      make_moe(c, {"n_routed_experts"}, {"num_experts_per_tok"}, {"moe_intermediate_size"});
  moe.activation = read_activation(c, {"hidden_act"});
  moe.router_bias = true;
  set_shared_experts(c, moe);
  const int layers = layer_count(c);
  const int dense = std::min(layers, c.count_or({"first_k_dense_replace"}, 0, limit::kLayers));
  LayerSpec layer;
  layer.mixer = a;
  layer.mlp = read_gated_mlp(c);
  m.layers.append(layer, dense);
  layer.mlp = moe;
  m.layers.append(layer, layers - dense);
  const int mtp = c.count_or({"num_nextn_predict_layers"}, 0, limit::kLayers);
  if (mtp > 0) m.mtp = Mtp{mtp, layer};
  return m;
}

// Every other layer has the window, beginning with the first, unless layer_types says otherwise.
// Biases everywhere, one sink per head.
Architecture read_gpt_oss(const HfConfig& c) {
  Architecture m = read_common(c);
  SoftmaxAttention a = read_attention(c, m.hidden);
  const bool bias = c.flag_or({"attention_bias"}, true);
  set_bias(a, bias, bias);
  a.sinks = true;
  MoeMlp moe = make_moe(c, {"num_local_experts"}, {"num_experts_per_tok", "experts_per_token"},
                        {"intermediate_size"});
  moe.activation = read_activation(c, {"hidden_act"});
  moe.bias = true;
  moe.router_bias = true;
  moe.norm_topk = true;
  const int window = c.size({"sliding_window"}, limit::kContext);
  const int layers = layer_count(c);
  const std::vector<bool> types = read_layer_types(c, layers, "sliding_attention");
  LayerSpec layer;
  layer.mlp = moe;
  for (int i = 0; i < layers; ++i) {
    const bool local = types.empty() ? i % 2 == 0 : types[index(i)];
    a.window = local ? window : 0;
    layer.mixer = a;
    m.layers.append(layer);
  }
  return m;
}

}  // namespace orrery
