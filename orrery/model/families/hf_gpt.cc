// Families before Llama: layer norms, mostly with biases, two-matrix MLPs.
#include <fmt/format.h>

#include "orrery/model/families/hf_families.h"

namespace orrery {
namespace {

DenseMlp plain_mlp(int intermediate, bool bias, Activation activation) {
  DenseMlp mlp;
  mlp.intermediate = intermediate;
  mlp.bias = bias;
  mlp.activation = activation;
  return mlp;
}

// `key` if it is given, otherwise four times hidden.
int four_times(const HfConfig& c, Key key, int hidden) {
  if (hidden > limit::kIntermediate / 4) c.fail(key, "missing, and 4 x hidden is too large");
  return c.size_or(key, 4 * hidden, limit::kIntermediate);
}

Architecture uniform(const HfConfig& c, Architecture m, const LayerSpec& layer) {
  m.layers.append(layer, layer_count(c));
  return m;
}

}  // namespace

Architecture read_gpt2(const HfConfig& c) {
  Architecture m = read_common(c, {.tied = true});
  m.norm = Norm::kLayer;
  m.position = Position::kLearned;
  m.position_rows = m.max_context;
  SoftmaxAttention a = read_attention(c, m.hidden);
  a.rope = false;
  set_bias(a, true, true);
  LayerSpec layer;
  layer.mixer = a;
  layer.mlp = plain_mlp(four_times(c, {"n_inner"}, m.hidden), true,
                        read_activation(c, {"activation_function"}, "gelu_new"));
  return uniform(c, std::move(m), layer);
}

// One norm, then attention and MLP side by side. Biases in the MLP and the LM head only.
Architecture read_gptj(const HfConfig& c) {
  Architecture m = read_common(c);
  m.norm = Norm::kLayer;
  m.lm_head_bias = true;
  LayerSpec layer;
  layer.mixer = read_attention(c, m.hidden);
  layer.mlp = plain_mlp(four_times(c, {"n_inner"}, m.hidden), true,
                        read_activation(c, {"activation_function"}, "gelu_new"));
  layer.norms = 1;
  layer.parallel = true;
  return uniform(c, std::move(m), layer);
}

Architecture read_gpt_neox(const HfConfig& c) {
  Architecture m = read_common(c);
  m.norm = Norm::kLayer;
  SoftmaxAttention a = read_attention(c, m.hidden);
  const bool bias = c.flag_or({"attention_bias"}, true);
  set_bias(a, bias, bias);
  LayerSpec layer;
  layer.mixer = a;
  layer.mlp = plain_mlp(c.size({"intermediate_size"}, limit::kIntermediate), true,
                        read_activation(c, {"hidden_act"}));
  layer.parallel = c.flag_or({"use_parallel_residual"}, true);
  return uniform(c, std::move(m), layer);
}

// The position table has two rows more than the context. Only the pre-norm models without an
// embedding projection: OPT-350M is built otherwise.
Architecture read_opt(const HfConfig& c) {
  Architecture m = read_common(c, {.tied = true});
  c.require_flag({"do_layer_norm_before"}, true, true);
  const int width = c.size_or({"word_embed_proj_dim"}, m.hidden, limit::kHidden);
  if (width != m.hidden) {
    c.fail(
        {"word_embed_proj_dim"},
        fmt::format("embeddings of another width ({}) than hidden_size are not supported", width));
  }
  m.norm = Norm::kLayer;
  m.position = Position::kLearned;
  m.position_rows = m.max_context + 2;
  SoftmaxAttention a = read_attention(c, m.hidden);
  a.rope = false;
  set_bias(a, true, true);
  LayerSpec layer;
  layer.mixer = a;
  layer.mlp = plain_mlp(c.size({"ffn_dim"}, limit::kIntermediate), true,
                        read_activation(c, {"activation_function"}, "relu"));
  return uniform(c, std::move(m), layer);
}

// ALiBi has no longest context; 2048, what the models were trained on, where the config does not
// say.
Architecture read_bloom(const HfConfig& c) {
  Architecture m = read_common(c, {.tied = true, .context = 2048});
  m.norm = Norm::kLayer;
  m.position = Position::kAlibi;
  m.embedding_norm = true;
  SoftmaxAttention a = read_attention(c, m.hidden);
  a.rope = false;
  set_bias(a, true, true);
  LayerSpec layer;
  layer.mixer = a;
  layer.mlp = plain_mlp(four_times(c, {"n_inner"}, m.hidden), true, Activation::kGelu);
  return uniform(c, std::move(m), layer);
}

// Only the released shape: no biases, ALiBi, one KV head a head or a single one.
Architecture read_mpt(const HfConfig& c) {
  Architecture m = read_common(c, {.tied = true});
  c.require_flag({"no_bias"}, true, true);
  m.norm = Norm::kLayerNoBias;
  m.position = Position::kAlibi;
  const int heads = c.size({"n_heads"}, limit::kHeads);
  int kv_heads = heads;
  if (const Node* attention = c.find({"attn_config"})) {
    const Node* alibi = attention->find("alibi");
    if (alibi == nullptr || !alibi->as_bool()) attention->fail("only alibi: true is supported");
    const Node* type = attention->find("attn_type");
    if (type != nullptr && type->as_string() == "multiquery_attention") {
      kv_heads = 1;
    } else if (type != nullptr && type->text() != "multihead_attention") {
      type->fail("expected multihead_attention or multiquery_attention");
    }
  } else {
    c.fail({"attn_config"}, "missing; expected a map with alibi and attn_type");
  }
  SoftmaxAttention a = make_attention(c, heads, kv_heads, divided_head_dim(c, m.hidden, heads));
  a.rope = false;
  const int ratio = c.size_or({"expansion_ratio"}, 4, 64);
  if (m.hidden > limit::kIntermediate / ratio) c.fail({"expansion_ratio"}, "the MLP is too large");
  LayerSpec layer;
  layer.mixer = a;
  layer.mlp = plain_mlp(ratio * m.hidden, false, Activation::kGelu);
  return uniform(c, std::move(m), layer);
}

// The 7B has one KV head and one norm for both halves (the old decoder); 40B and 180B have
// num_kv_heads and a norm for each (the new one). Context 2048 where the config does not say (the
// default of the class).
Architecture read_falcon(const HfConfig& c) {
  Architecture m = read_common(c, {.tied = true, .context = 2048});
  m.norm = Norm::kLayer;
  const bool alibi = c.flag_or({"alibi"}, false);
  m.position = alibi ? Position::kAlibi : Position::kRope;
  const int heads = c.size({"num_attention_heads", "n_head"}, limit::kHeads);
  const bool grouped = c.flag_or({"new_decoder_architecture"}, false) || c.has({"n_head_kv"});
  int kv_heads = c.flag_or({"multi_query"}, true) ? 1 : heads;
  if (grouped) kv_heads = c.size_or({"num_kv_heads", "n_head_kv"}, heads, limit::kHeads);
  const bool bias = c.flag_or({"bias"}, false);
  SoftmaxAttention a = make_attention(c, heads, kv_heads, divided_head_dim(c, m.hidden, heads));
  a.rope = !alibi;
  set_bias(a, bias, bias);
  LayerSpec layer;
  layer.mixer = a;
  layer.mlp = plain_mlp(four_times(c, {"ffn_hidden_size"}, m.hidden), bias, Activation::kGelu);
  layer.parallel = grouped || c.flag_or({"parallel_attn"}, true);
  layer.norms = c.count_or({"num_ln_in_parallel_attn"}, grouped || !layer.parallel ? 2 : 1, 2);
  return uniform(c, std::move(m), layer);
}

Architecture read_starcoder2(const HfConfig& c) {
  Architecture m = read_common(c, {.tied = true});
  m.norm = Norm::kLayer;
  const bool bias = c.flag_or({"use_bias"}, true);
  SoftmaxAttention a = read_attention(c, m.hidden);
  set_bias(a, bias, bias);
  a.window = c.count_or({"sliding_window"}, 0, limit::kContext);
  LayerSpec layer;
  layer.mixer = a;
  layer.mlp = plain_mlp(c.size({"intermediate_size"}, limit::kIntermediate), bias,
                        read_activation(c, {"hidden_act"}));
  return uniform(c, std::move(m), layer);
}

// Phi-1.5 and Phi-2: one norm, attention and MLP side by side, biases everywhere.
Architecture read_phi(const HfConfig& c) {
  Architecture m = read_common(c);
  c.require_flag({"qk_layernorm"}, false, false);
  m.norm = Norm::kLayer;
  m.lm_head_bias = true;
  SoftmaxAttention a = read_attention(c, m.hidden);
  set_bias(a, true, true);
  LayerSpec layer;
  layer.mixer = a;
  layer.mlp = plain_mlp(c.size({"intermediate_size"}, limit::kIntermediate), true,
                        read_activation(c, {"hidden_act"}));
  layer.norms = 1;
  layer.parallel = true;
  return uniform(c, std::move(m), layer);
}

// Command R, and PaLM in the same fields: attention and a gated MLP side by side, one norm, no
// biases, tied embeddings. (The norm's own bias is counted, which they leave out.)
Architecture read_cohere(const HfConfig& c) {
  Architecture m = read_common(c, {.tied = true});
  m.norm = Norm::kLayer;
  SoftmaxAttention a = read_attention(c, m.hidden);
  const bool bias = c.flag_or({"attention_bias"}, false);
  set_bias(a, bias, bias);
  c.require_flag({"use_qk_norm"}, false, false);
  LayerSpec layer;
  layer.mixer = a;
  layer.mlp = read_gated_mlp(c);
  layer.norms = 1;
  layer.parallel = true;
  return uniform(c, std::move(m), layer);
}

}  // namespace orrery
