// Latent attention with a mixture of experts after the first layers: DeepSeek-V2 to V3.2, Kimi K2,
// GLM-4.7-Flash, GLM-5. DeepSeek-V4: compressed attention, hyper-connections, experts in every
// layer.
#include <fmt/format.h>

#include <algorithm>

#include "orrery/base/index.h"
#include "orrery/model/families/hf_families.h"

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
      const std::string& kind = indexers[index(i)];
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
    m.mtp = Mtp{mtp, layer, true};
  }
  read_towers(c, m);
  return m;
}

constexpr int kSparseRatio = 4, kHeavyRatio = 128;

// Tokens that an entry of each layer's compressed cache stands for; 0: the layer has none. From
// layer_types and compress_rates (transformers), else from compress_ratios (the release), which may
// have further entries for MTP modules.
std::vector<int> compress_ratios(const HfConfig& c, int layers) {
  std::vector<int> out;
  if (c.has({"layer_types"})) {
    int sparse = kSparseRatio, heavy = kHeavyRatio;
    if (const Node* rates = c.find({"compress_rates"})) {
      const HfConfig r(*rates);
      sparse = r.size_or({"compressed_sparse_attention"}, sparse, limit::kContext);
      heavy = r.size_or({"heavily_compressed_attention"}, heavy, limit::kContext);
    }
    for (const std::string& type : c.texts({"layer_types"})) {
      if (type == "compressed_sparse_attention") {
        out.push_back(sparse);
      } else if (type == "heavily_compressed_attention") {
        out.push_back(heavy);
      } else if (type == "sliding_attention") {
        out.push_back(0);
      } else {
        c.fail({"layer_types"},
               fmt::format("expected compressed_sparse_attention, heavily_compressed_attention or "
                           "sliding_attention, got '{}'",
                           type));
      }
    }
  } else {
    out = c.counts({"compress_ratios"}, limit::kContext);
    if (out.size() > static_cast<std::size_t>(layers)) {
      out.resize(static_cast<std::size_t>(layers));
    }
  }
  check_per_layer(c, {"layer_types", "compress_ratios"}, out.size(), layers);
  return out;
}

// Number of first layers whose experts are looked up by token id (absent: 3, the default of the
// class).
int hash_layers(const HfConfig& c, int layers) {
  if (!c.has({"mlp_layer_types"})) return c.count_or({"num_hash_layers"}, 3, limit::kLayers);
  const std::vector<std::string> types = c.texts({"mlp_layer_types"});
  check_per_layer(c, {"mlp_layer_types"}, types.size(), layers);
  return static_cast<int>(std::count(types.begin(), types.end(), "hash_moe"));
}

CompressedAttention shared_attention(const HfConfig& c) {
  CompressedAttention a;
  a.heads = c.size({"num_attention_heads"}, limit::kHeads);
  a.head_dim = c.size({"head_dim"}, limit::kHeadDim);
  a.rope_dim = c.size_or({"qk_rope_head_dim"}, a.head_dim / 8, limit::kHeadDim);
  a.q_lora_rank = c.size({"q_lora_rank"}, limit::kHidden);
  a.o_groups = c.size({"o_groups"}, limit::kHeads);
  a.o_lora_rank = c.size({"o_lora_rank"}, limit::kHidden);
  a.window = c.size({"sliding_window"}, limit::kContext);
  c.require_flag({"attention_bias"}, false, false);
  if (c.size_or({"num_key_value_heads"}, 1, limit::kHeads) != 1) {
    c.fail({"num_key_value_heads"}, "compressed attention has one KV head");
  }
  if (a.heads % a.o_groups != 0) {
    c.fail({"o_groups"}, fmt::format("{} groups do not divide {} heads", a.o_groups, a.heads));
  }
  return a;
}

}  // namespace

Architecture read_deepseek_v2(const HfConfig& c) { return latent_model(c, false); }

// Experts are chosen by score plus a learned correction, one per expert.
Architecture read_deepseek_v3(const HfConfig& c) { return latent_model(c, true); }

// Entries of a ratio below 128 are picked by an indexer and have overlapping windows (CSA). Those
// of larger ratios are all read (HCA). Source: modeling_deepseek_v4.py of transformers.
Architecture read_deepseek_v4(const HfConfig& c) {
  Architecture m = read_common(c);
  const int layers = layer_count(c);
  const CompressedAttention shared = shared_attention(c);
  const std::vector<int> ratios = compress_ratios(c, layers);
  const int hashed = hash_layers(c, layers);

  MoeMlp moe =
      make_moe(c, {"n_routed_experts"}, {"num_experts_per_tok"}, {"moe_intermediate_size"});
  moe.activation = read_activation(c, {"hidden_act"}, "silu");
  set_shared_experts(c, moe);

  LayerSpec layer;
  layer.residual_streams = c.size_or({"hc_mult"}, 1, 64);
  for (int i = 0; i < layers; ++i) {
    CompressedAttention a = shared;
    a.compress = ratios[index(i)];
    if (a.compress > 0 && a.compress < kHeavyRatio) {
      a.overlapping = true;
      a.top_k = c.size({"index_topk"}, limit::kContext);
      a.indexer = SparseIndexer{c.size({"index_n_heads"}, limit::kHeads),
                                c.size({"index_head_dim"}, limit::kHeadDim)};
    }
    layer.mixer = a;
    moe.hash_routing = i < hashed;
    moe.router_bias = !moe.hash_routing;
    layer.mlp = moe;
    m.layers.append(layer);
  }
  const int mtp = c.count_or({"num_nextn_predict_layers"}, 0, limit::kLayers);
  if (mtp > 0) {
    layer.mixer = shared;
    m.mtp = Mtp{mtp, layer};
  }
  return m;
}

}  // namespace orrery
