// Kimi Linear and Kimi-K3: Kimi delta attention in most layers, latent attention in the others.
#include <fmt/format.h>

#include <algorithm>

#include "orrery/base/index.h"
#include "orrery/model/families/hf_families.h"

namespace orrery {
namespace {

// Layers named in kda_layers of linear_attn_config, which counts from 1; the others are full
// attention.
std::vector<bool> linear_layers(const HfConfig& linear, int layers) {
  std::vector<bool> out(static_cast<std::size_t>(layers), false);
  const std::vector<int> named = linear.counts({"kda_layers"}, limit::kLayers);
  for (const int layer : named) {
    if (layer < 1 || layer > layers) {
      linear.fail({"kda_layers"}, fmt::format("layer {} is not in 1 to {}", layer, layers));
    }
    out[index(layer - 1)] = true;
  }
  for (const int layer : linear.counts({"full_attn_layers"}, limit::kLayers)) {
    if (layer >= 1 && layer <= layers && out[index(layer - 1)]) {
      linear.fail({"full_attn_layers"}, fmt::format("layer {} is in kda_layers too", layer));
    }
  }
  return out;
}

KimiDelta kimi_delta(const HfConfig& linear) {
  KimiDelta a;
  a.heads = linear.size({"num_heads"}, limit::kHeads);
  a.head_dim = linear.size({"head_dim"}, limit::kHeadDim);
  a.conv = linear.size({"short_conv_kernel_size"}, limit::kHeadDim);
  a.full_rank_gate = linear.flag_or({"use_full_rank_gate"}, false);
  return a;
}

LatentAttention full_attention(const HfConfig& c) {
  LatentAttention a;
  a.heads = c.size({"num_attention_heads"}, limit::kHeads);
  a.q_lora_rank = c.count_or({"q_lora_rank"}, 0, limit::kHidden);
  a.kv_lora_rank = c.size({"kv_lora_rank"}, limit::kHidden);
  a.qk_nope_dim = c.size({"qk_nope_head_dim"}, limit::kHeadDim);
  a.qk_rope_dim = c.count_or({"qk_rope_head_dim"}, 0, limit::kHeadDim);
  a.value_dim = c.size({"v_head_dim"}, limit::kHeadDim);
  a.output_gate = c.flag_or({"mla_use_output_gate"}, false);
  return a;
}

MoeMlp kimi_moe(const HfConfig& c) {
  MoeMlp moe =
      make_moe(c, {"num_experts", "n_routed_experts"},
               {"num_experts_per_token", "num_experts_per_tok"}, {"moe_intermediate_size"});
  moe.activation = read_activation(c, {"hidden_act"}, "silu");
  moe.router_bias = true;
  moe.norm_topk = c.flag_or({"moe_renormalize", "norm_topk_prob"}, true);
  set_shared_experts(c, moe);
  moe.latent = c.count_or({"routed_expert_hidden_size"}, 0, limit::kHidden);
  moe.latent_norm = moe.latent > 0 && c.flag_or({"latent_moe_use_norm"}, false);
  return moe;
}

}  // namespace

// Attention residuals (attn_res_block_size of Kimi-K3) sum layers in blocks of that many; layer i
// reads the embedding, the sums of the finished blocks and that of its own.
Architecture read_kimi_linear(const HfConfig& c) {
  Architecture m = read_common(c);
  m.position = Position::kNone;
  const int layers = layer_count(c);
  const Node* node = c.find({"linear_attn_config"});
  if (node == nullptr || !node->is_map()) c.fail({"linear_attn_config"}, "expected a map");
  const HfConfig linear(*node);
  const std::vector<bool> is_linear = linear_layers(linear, layers);
  const KimiDelta delta = kimi_delta(linear);
  const LatentAttention full = full_attention(c);
  const int dense = c.count_or({"first_k_dense_replace"}, 0, limit::kLayers);
  const int every = c.size_or({"moe_layer_freq"}, 1, limit::kLayers);
  const int block = c.count_or({"attn_res_block_size"}, 0, limit::kLayers);
  const bool experts = c.has({"num_experts", "n_routed_experts"});
  LayerSpec layer;
  for (int i = 0; i < layers; ++i) {
    if (is_linear[index(i)]) {
      layer.mixer = delta;
    } else {
      layer.mixer = full;
    }
    if (experts && i >= dense && i % every == 0) {
      layer.mlp = kimi_moe(c);
    } else {
      layer.mlp = read_gated_mlp(c);
    }
    if (block > 0) layer.residual_sources = i / block + 2;
    m.layers.append(layer);
  }
  const int mtp = c.count_or({"num_nextn_predict_layers"}, 0, limit::kLayers);
  if (mtp > 0) m.mtp = Mtp{mtp, layer};
  read_towers(c, m);
  return m;
}

}  // namespace orrery
