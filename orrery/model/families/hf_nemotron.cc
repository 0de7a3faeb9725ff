// NVIDIA's Nemotron-4 (dense) and Nemotron-H (Mamba-2, attention and MLP as layers of their own).
#include <fmt/format.h>

#include "orrery/model/families/hf_families.h"

namespace orrery {
namespace {

Mamba2 read_mamba2(const HfConfig& c) {
  Mamba2 a;
  a.heads = c.size({"mamba_num_heads"}, limit::kHeads);
  a.head_dim = c.size({"mamba_head_dim"}, limit::kHeadDim);
  a.state = c.size({"ssm_state_size"}, limit::kHeadDim);
  a.groups = c.size({"n_groups", "mamba_n_groups"}, limit::kHeads);
  a.conv = c.size({"conv_kernel"}, limit::kHeadDim);
  a.conv_bias = c.flag_or({"use_conv_bias"}, true);
  a.chunk = c.size_or({"chunk_size"}, 128, limit::kContext);
  c.require_flag({"mamba_proj_bias"}, false, false);
  if (a.heads % a.groups != 0) {
    c.fail({"n_groups"}, fmt::format("{} groups do not divide {} heads", a.groups, a.heads));
  }
  return a;
}

// Width and number of experts for each token are those of `block` where it has them
// (block_configs of a searched model), else those of the model.
MoeMlp nemotron_moe(const HfConfig& c, const HfConfig& block) {
  const HfConfig& own = block.has({"moe_intermediate_size"}) ? block : c;
  MoeMlp moe;
  moe.experts = c.size({"n_routed_experts"}, limit::kExperts);
  moe.top_k = own.size({"num_experts_per_tok"}, limit::kExperts);
  moe.intermediate = own.size({"moe_intermediate_size"}, limit::kIntermediate);
  if (moe.top_k > moe.experts) {
    own.fail({"num_experts_per_tok"},
             fmt::format("{} experts per token, but there are only {}", moe.top_k, moe.experts));
  }
  moe.norm_topk = c.flag_or({"norm_topk_prob"}, false);
  moe.gated = false;
  moe.activation = read_activation(c, {"mlp_hidden_act"}, "relu2");
  moe.router_bias = true;
  moe.shared_intermediate =
      c.count_or({"moe_shared_expert_intermediate_size"}, 0, limit::kIntermediate);
  moe.latent = c.count_or({"moe_latent_size"}, 0, limit::kHidden);
  return moe;
}

// The layers of a hybrid as one letter each: M Mamba-2, * attention, - MLP, E experts. From
// hybrid_override_pattern, or from layers_block_type, which says the same in words.
std::string layer_letters(const HfConfig& c, Key pattern, Key types) {
  if (!c.has(types)) return c.text_or(pattern, "");
  std::string out;
  for (const std::string& type : c.texts(types)) {
    if (type == "mamba" || type == "mamba2") {
      out += 'M';
    } else if (type == "attention" || type == "full_attention") {
      out += '*';
    } else if (type == "mlp") {
      out += '-';
    } else if (type == "moe") {
      out += 'E';
    } else {
      c.fail(types, fmt::format("expected mamba, attention, mlp or moe, got '{}'", type));
    }
  }
  return out;
}

// The layer of one letter. `block` is its entry of block_configs, or the config itself.
LayerSpec hybrid_layer(const HfConfig& c, const HfConfig& block, const SoftmaxAttention& attention,
                       char kind) {
  LayerSpec layer;
  layer.norms = 1;
  if (kind == 'M') {
    layer.mixer = read_mamba2(c);
  } else if (kind == '*') {
    layer.mixer = attention;
  } else if (kind == '-') {
    DenseMlp mlp;
    mlp.intermediate = c.size({"intermediate_size"}, limit::kIntermediate);
    mlp.bias = c.flag_or({"mlp_bias"}, false);
    mlp.activation = read_activation(c, {"mlp_hidden_act"});
    layer.mlp = mlp;
  } else if (kind == 'E') {
    layer.mlp = nemotron_moe(c, block);
  } else {
    c.fail({"hybrid_override_pattern", "layers_block_type"},
           fmt::format("expected one of M, *, -, E for each layer, got '{}'", kind));
  }
  return layer;
}

}  // namespace

// Layer norms with bias, squared ReLU, no gate.
Architecture read_nemotron(const HfConfig& c) {
  Architecture m = read_common(c);
  m.norm = Norm::kLayer;
  SoftmaxAttention a = read_attention(c, m.hidden);
  const bool bias = c.flag_or({"attention_bias"}, false);
  set_bias(a, bias, bias);
  DenseMlp mlp;
  mlp.intermediate = c.size({"intermediate_size"}, limit::kIntermediate);
  mlp.bias = c.flag_or({"mlp_bias"}, false);
  mlp.activation = read_activation(c, {"hidden_act"});
  LayerSpec layer;
  layer.mixer = a;
  layer.mlp = mlp;
  m.layers.append(layer, layer_count(c));
  return m;
}

// Nemotron-H and Nemotron 3, without rotary embedding. An MTP module is an attention block and a
// block of experts, which count here as one layer with both.
Architecture read_nemotron_h(const HfConfig& c) {
  Architecture m = read_common(c);
  m.position = Position::kNone;
  const int heads = c.size({"num_attention_heads"}, limit::kHeads);
  const int head_dim = c.has({"head_dim", "attention_head_dim"})
                           ? c.size({"head_dim", "attention_head_dim"}, limit::kHeadDim)
                           : divided_head_dim(c, m.hidden, heads);
  SoftmaxAttention a =
      make_attention(c, heads, c.size_or({"num_key_value_heads"}, heads, limit::kHeads), head_dim);
  a.rope = false;
  const bool bias = c.flag_or({"attention_bias"}, false);
  set_bias(a, bias, bias);

  const Key pattern = {"hybrid_override_pattern", "layers_block_type"};
  const std::string letters = layer_letters(c, {"hybrid_override_pattern"}, {"layers_block_type"});
  if (letters.empty()) c.fail(pattern, "missing; expected a letter for each layer");
  if (c.has({"num_hidden_layers"})) check_per_layer(c, pattern, letters.size(), layer_count(c));
  if (letters.size() > static_cast<std::size_t>(limit::kLayers)) {
    c.fail(pattern, fmt::format("{} layers; at most {}", letters.size(), limit::kLayers));
  }
  const Node* blocks = c.find({"block_configs"});
  if (blocks != nullptr) {
    if (!blocks->is_list()) blocks->fail("expected a list of blocks");
    check_per_layer(c, {"block_configs"}, blocks->items().size(), static_cast<int>(letters.size()));
    for (const Node& block : blocks->items()) {
      if (!block.is_map()) block.fail("expected a map");
    }
  }
  for (std::size_t i = 0; i < letters.size(); ++i) {
    const HfConfig block = blocks != nullptr ? HfConfig(blocks->items()[i]) : c;
    m.layers.append(hybrid_layer(c, block, a, letters[i]));
  }
  const int mtp = c.count_or({"num_nextn_predict_layers"}, 0, limit::kLayers);
  const std::string module =
      layer_letters(c, {"mtp_hybrid_override_pattern"}, {"mtp_layers_block_type"});
  if (mtp > 0 && !module.empty()) {
    LayerSpec layer;
    layer.norms = static_cast<int>(module.size());
    for (const char kind : module) {
      const LayerSpec one = hybrid_layer(c, c, a, kind);
      if (!std::holds_alternative<NoMixer>(one.mixer)) layer.mixer = one.mixer;
      if (!std::holds_alternative<NoMlp>(one.mlp)) layer.mlp = one.mlp;
    }
    m.mtp = Mtp{mtp, layer};
  }
  return m;
}

}  // namespace orrery
