// Latent attention with a mixture of experts after the first layers: DeepSeek-V2 to V3.2, Kimi K2,
// GLM-4.7-Flash, GLM-5.
#include <fmt/format.h>

#include "orrery/model/hf_families.h"

namespace orrery {
namespace {

LatentAttention latent_attention(const HfConfig& c) {
  LatentAttention a;
  a.heads = c.size({"num_attention_heads"}, limit::kHeads);
  a.q_lora_rank = c.count_or({"q_lora_rank"}, 0, limit::kHidden);
  a.kv_lora_rank = c.size({"kv_lora_rank"}, limit::kHidden);
  a.qk_nope_dim = c.size({"qk_nope_head_dim"}, limit::kHeadDim);
  a.qk_rope_dim = c.size({"qk_rope_head_dim"}, limit::kHeadDim);
  a.value_dim = c.size({"v_head_dim"}, limit::kHeadDim);
  c.require_flag({"attention_bias"}, false, false);
  if (c.has({"index_topk"})) {
    if (a.q_lora_rank == 0) c.fail({"index_topk"}, "an indexer needs q_lora_rank");
    a.sparse_top_k = c.size({"index_topk"}, limit::kContext);
    a.indexer = SparseIndexer{c.size({"index_n_heads"}, limit::kHeads),
                              c.size({"index_head_dim"}, limit::kHeadDim)};
  }
  return a;
}

MoeMlp deepseek_moe(const HfConfig& c) {
  MoeMlp moe =
      make_moe(c, {"n_routed_experts"}, {"num_experts_per_tok"}, {"moe_intermediate_size"});
  moe.activation = read_activation(c, {"hidden_act"});
  moe.groups = c.size_or({"n_group"}, 1, limit::kExperts);
  moe.top_groups = c.size_or({"topk_group"}, 1, limit::kExperts);
  if (moe.experts % moe.groups != 0) {
    c.fail({"n_group"}, fmt::format("{} groups do not divide {} experts", moe.groups, moe.experts));
  }
  if (moe.top_groups > moe.groups) {
    c.fail({"topk_group"}, fmt::format("{} of only {} groups", moe.top_groups, moe.groups));
  }
  set_shared_experts(c, moe);
  return moe;
}

Architecture latent_model(const HfConfig& c, bool router_bias) {
  Architecture m = read_common(c);
  const int layers = layer_count(c);
  const int first_dense = c.count_or({"first_k_dense_replace"}, 0, limit::kLayers);
  const int every = c.size_or({"moe_layer_freq"}, 1, limit::kLayers);
  // GLM-5.2: layers marked "shared" read the tokens that the last "full" layer chose.
  std::vector<std::string> indexers;
  if (c.has({"indexer_types"})) {
    indexers = c.texts({"indexer_types"});
    check_per_layer(c, {"indexer_types"}, indexers.size(), layers);
  }
  const LatentAttention attention = latent_attention(c);
  const bool has_experts = c.has({"n_routed_experts"});
  LayerSpec layer;
  for (int i = 0; i < layers; ++i) {
    LatentAttention a = attention;
    if (!indexers.empty()) {
      const std::string& kind = indexers[static_cast<std::size_t>(i)];
      if (kind == "shared") {
        a.indexer.reset();
      } else if (kind != "full") {
        c.fail({"indexer_types"}, fmt::format("expected full or shared, got '{}'", kind));
      }
    }
    layer.mixer = a;
    if (has_experts && i >= first_dense && i % every == 0) {
      MoeMlp moe = deepseek_moe(c);
      moe.router_bias = router_bias;
      layer.mlp = moe;
    } else {
      layer.mlp = read_gated_mlp(c);
    }
    m.layers.append(layer);
  }
  const int mtp = c.count_or({"num_nextn_predict_layers"}, 0, limit::kLayers);
  if (mtp > 0) {
    layer.mixer = attention;
    m.mtp = Mtp{mtp, layer};
  }
  read_towers(c, m);
  return m;
}

}  // namespace

Architecture read_deepseek_v2(const HfConfig& c) { return latent_model(c, false); }

// Experts are chosen by score plus a learned correction, one per expert.
Architecture read_deepseek_v3(const HfConfig& c) { return latent_model(c, true); }

}  // namespace orrery
