// Families with one kind of layer: RMS norm, rotary GQA, RMS norm, gated MLP.
#include <fmt/format.h>

#include "orrery/model/families/hf_families.h"

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

// Half of a block of block_configs, which is a map. Options that change its work are refused.
HfConfig block_half(const Node& block, std::string_view half) {
  const Node& node = block.at(half);
  if (!node.is_map()) node.fail("expected a map");
  const HfConfig c(node);
  c.require_flag({"replace_with_linear"}, false, false);
  if (c.has({"sparsify"})) c.fail({"sparsify"}, "sparse blocks are not supported");
  return c;
}

// Blocks that an architecture search chose (Llama-Nemotron: Puzzle, arXiv:2411.19146): attention
// may be absent, its KV heads differ, and the MLP is ffn_mult times as wide, counted as
// configuration_decilm.py of the release does: 2/3 of ffn_mult * hidden, rounded up to 256.
Architecture searched_blocks(const HfConfig& c, Architecture m, int heads, int head_dim) {
  constexpr int kUnit = 256;
  const Node& blocks = *c.find({"block_configs"});
  if (!blocks.is_list()) blocks.fail("expected a list of blocks");
  check_per_layer(c, {"block_configs"}, blocks.items().size(), layer_count(c));
  for (const Node& block : blocks.items()) {
    if (!block.is_map()) block.fail("expected a map");
    LayerSpec layer;
    layer.norms = 0;
    const HfConfig attention = block_half(block, "attention");
    if (attention.has({"window_length", "num_sink_tokens"})) {
      attention.fail({"window_length", "num_sink_tokens"}, "windows are not supported");
    }
    if (!attention.flag_or({"no_op"}, false)) {
      const int group = attention.size({"n_heads_in_group"}, limit::kHeads);
      if (heads % group != 0) {
        attention.fail({"n_heads_in_group"},
                       fmt::format("{} does not divide {} heads", group, heads));
      }
      layer.mixer = make_attention(c, heads, heads / group, head_dim);
      ++layer.norms;
    }
    const HfConfig ffn = block_half(block, "ffn");
    if (!ffn.flag_or({"no_op"}, false)) {
      const Node* times = ffn.find({"ffn_mult"});
      if (times == nullptr) ffn.fail({"ffn_mult"}, "missing; expected a number");
      const double width = 2 * times->as_double() * m.hidden / 3;
      if (!(width >= 1 && width <= limit::kIntermediate)) times->fail("expected a size of an MLP");
      DenseMlp mlp;
      mlp.intermediate = (static_cast<int>(width) + kUnit - 1) / kUnit * kUnit;
      mlp.gated = true;
      mlp.activation = read_activation(c, {"hidden_act"});
      layer.mlp = mlp;
      ++layer.norms;
    }
    m.layers.append(layer);
  }
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
  read_towers(c, m);
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

// Llama with its own number of KV heads in each layer, or with a description of each block.
Architecture read_decilm(const HfConfig& c) {
  Architecture m = read_common(c);
  const int heads = c.size({"num_attention_heads"}, limit::kHeads);
  const int head_dim = divided_head_dim(c, m.hidden, heads);
  const int layers = layer_count(c);
  if (c.has({"block_configs"})) return searched_blocks(c, std::move(m), heads, head_dim);
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
