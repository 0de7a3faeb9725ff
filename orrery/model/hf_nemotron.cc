// NVIDIA's Nemotron-4 (dense) and Nemotron-H (Mamba-2, attention and MLP as layers of their own).
#include <fmt/format.h>

#include "orrery/model/hf_families.h"

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

MoeMlp nemotron_moe(const HfConfig& c) {
  MoeMlp moe =
      make_moe(c, {"n_routed_experts"}, {"num_experts_per_tok"}, {"moe_intermediate_size"});
  moe.gated = false;
  moe.activation = read_activation(c, {"mlp_hidden_act"});
  moe.router_bias = true;
  moe.shared_intermediate =
      c.count_or({"moe_shared_expert_intermediate_size"}, 0, limit::kIntermediate);
  if (c.has({"moe_latent_size"})) c.fail({"moe_latent_size"}, "latent experts are not supported");
  return moe;
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

// hybrid_override_pattern has one letter a layer: M Mamba-2, * attention (without rotary
// embedding), - MLP, E experts.
Architecture read_nemotron_h(const HfConfig& c) {
  Architecture m = read_common(c);
  m.position = Position::kNone;
  SoftmaxAttention a = read_attention(c, m.hidden);
  a.rope = false;
  const bool bias = c.flag_or({"attention_bias"}, false);
  set_bias(a, bias, bias);
  const Mamba2 mamba = read_mamba2(c);
  DenseMlp mlp;
  mlp.intermediate = c.size({"intermediate_size"}, limit::kIntermediate);
  mlp.bias = c.flag_or({"mlp_bias"}, false);
  mlp.activation = read_activation(c, {"mlp_hidden_act"});

  const std::string pattern = c.text_or({"hybrid_override_pattern"}, "");
  check_per_layer(c, {"hybrid_override_pattern"}, pattern.size(), layer_count(c));
  for (const char kind : pattern) {
    LayerSpec layer;
    layer.norms = 1;
    if (kind == 'M') {
      layer.mixer = mamba;
    } else if (kind == '*') {
      layer.mixer = a;
    } else if (kind == '-') {
      layer.mlp = mlp;
    } else if (kind == 'E') {
      layer.mlp = nemotron_moe(c);
    } else {
      c.fail({"hybrid_override_pattern"},
             fmt::format("expected one of M, *, -, E for each layer, got '{}'", kind));
    }
    m.layers.append(layer);
  }
  return m;
}

}  // namespace orrery
