// Families with one kind of layer: RMS norm, rotary GQA, RMS norm, gated MLP.
#include <fmt/format.h>

#include "orrery/model/hf_families.h"

namespace orrery {
namespace {

// Uniform layers of this attention with the config's gated MLP.
Architecture uniform(const HfConfig& c, Architecture m, const SoftmaxAttention& a, bool mlp_bias) {
  DenseMlp mlp = read_gated_mlp(c);
  mlp.bias = mlp_bias;
  LayerSpec layer;
  layer.mixer = a;
  layer.mlp = mlp;
  m.layers.append(layer, layer_count(c));
  return m;
}

}  // namespace

// Llama 1, 2, 3, 3.x and what copies it (Vicuna, Yi, Aquila).
Architecture read_llama(const HfConfig& c) {
  Architecture m = read_common(c);
  SoftmaxAttention a = read_attention(c, m.hidden);
  const bool bias = c.flag_or({"attention_bias"}, false);
  set_bias(a, bias, bias);
  return uniform(c, std::move(m), a, c.flag_or({"mlp_bias"}, false));
}

// Every layer has the window, where there is one.
Architecture read_mistral(const HfConfig& c) {
  Architecture m = read_common(c);
  SoftmaxAttention a = read_attention(c, m.hidden);
  a.window = c.count_or({"sliding_window"}, 0, limit::kContext);
  return uniform(c, std::move(m), a, false);
}

// InternLM 1 (its 7B has biases in attention) and 2.
Architecture read_internlm(const HfConfig& c) {
  Architecture m = read_common(c);
  SoftmaxAttention a = read_attention(c, m.hidden);
  const bool bias = c.flag_or({"bias"}, false);
  set_bias(a, bias, bias);
  return uniform(c, std::move(m), a, false);
}

// Llama with its own number of KV heads in each layer.
Architecture read_decilm(const HfConfig& c) {
  Architecture m = read_common(c);
  const int heads = c.size({"num_attention_heads"}, limit::kHeads);
  const int head_dim = divided_head_dim(c, m.hidden, heads);
  const int layers = layer_count(c);
  const std::vector<int> kv_heads = c.counts({"num_key_value_heads_per_layer"}, limit::kHeads);
  check_per_layer(c, {"num_key_value_heads_per_layer"}, kv_heads.size(), layers);
  LayerSpec layer;
  layer.mlp = read_gated_mlp(c);
  for (const int kv : kv_heads) {
    if (kv == 0)
      c.fail({"num_key_value_heads_per_layer"}, "layers without KV heads are not supported");
    layer.mixer = make_attention(c, heads, kv, head_dim);
    m.layers.append(layer);
  }
  return m;
}

// Phi-3 and Phi-4. The biases that the class could have are in no release.
Architecture read_phi3(const HfConfig& c) {
  c.require_flag({"attention_bias"}, false, false);
  return read_mistral(c);
}

// GLM-4-0414: a second norm after attention and after the MLP.
Architecture read_glm4(const HfConfig& c) {
  Architecture m = read_common(c);
  SoftmaxAttention a = read_attention(c, m.hidden);
  set_bias(a, c.flag_or({"attention_bias"}, false), false);
  LayerSpec layer;
  layer.mixer = a;
  layer.mlp = read_gated_mlp(c);
  layer.norms = 4;
  m.layers.append(layer, layer_count(c));
  return m;
}

}  // namespace orrery
