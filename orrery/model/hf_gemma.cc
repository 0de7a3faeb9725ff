// Gemma 1 to 3. Embeddings are tied (the default of the classes; the configs do not say).
#include "orrery/model/hf_families.h"

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
    const bool local = types.empty() ? is_local(i) : types[static_cast<std::size_t>(i)];
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

}  // namespace orrery
