// Multi-head latent attention (DeepSeek-V2, V3; Kimi K2). The cache holds, per token, one latent of
// kv_lora_rank and one rotary key of qk_rope_dim, shared by all heads.
//
// Ranks divide the heads. Every rank holds the projections to the latents, their norms and the
// indexer (deepseek_v2.py of vLLM and SGLang; multi_latent_attention.py of Megatron-Core 0.14, its
// layer specs give TELinear; deepseek_v3/sharding.py of torchtitan).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "orrery/model/layers/kept_state.h"
#include "orrery/model/layers/layer_facts.h"
#include "orrery/model/layers/layer_weights.h"
#include "orrery/model/layers/layer_work.h"
#include "orrery/model/layers/saved_tensors.h"
#include "orrery/model/layers/sparse_indexer.h"
#include "orrery/model/layers/tensor_rules.h"

namespace orrery {

struct LatentAttention {
  static constexpr std::string_view kKind = "latent";

  int heads = 0;
  int q_lora_rank = 0;  // 0: queries are projected directly
  int kv_lora_rank = 0;
  int qk_nope_dim = 0;
  int qk_rope_dim = 0;
  int value_dim = 0;
  int sparse_top_k = 0;      // past tokens read by a token, once the context is longer; 0: all
  bool output_gate = false;  // a gate hidden x heads*value scales the output (Kimi-K3)
  // Absent in sparse layers that reuse the choice of an earlier layer (GLM-5.2).
  std::optional<SparseIndexer> indexer;
  bool operator==(const LatentAttention&) const = default;

  constexpr Width of_heads(int each) const { return divided(std::int64_t{heads} * each); }
  constexpr Width queries() const { return of_heads(qk_nope_dim + qk_rope_dim); }
  constexpr Width result() const { return of_heads(value_dim); }
  constexpr Width latent() const { return whole(std::int64_t{kv_lora_rank} + qk_rope_dim); }

  template <class Weights>
  constexpr void declare(Weights& w, std::int64_t hidden) const {
    const Width row = whole(hidden), query_latent = whole(q_lora_rank);
    if (q_lora_rank == 0) {
      w.matrix(
          {.role = "q", .outputs = queries(), .inputs = row, .leaves = "q_proj", .adapter = "q"});
    } else {
      w.matrix(LayerMatrix{"q_a", query_latent, row}.named("q_a_proj"));
      w.matrix(LayerMatrix{"q_b", queries(), query_latent}.named("q_b_proj").adapted("q"));
    }
    w.matrix(LayerMatrix{"kv_a", latent(), row}.named("kv_a_proj_with_mqa").adapted("k"));
    w.matrix(LayerMatrix{"kv_b", of_heads(qk_nope_dim + value_dim), whole(kv_lora_rank)}
                 .named("kv_b_proj")
                 .adapted("v"));
    w.matrix(LayerMatrix{"o", row, result()}.named("o_proj").adapted("o"));
    if (output_gate) w.matrix(LayerMatrix{"gate", result(), row}.named("g_proj"));
    w.vector({"latents", query_latent + whole(kv_lora_rank)});
    if (!indexer) return;
    indexer->declare_queries(w, q_lora_rank > 0 ? q_lora_rank : hidden, "wq_b");
    w.matrix(LayerMatrix{"index_k", whole(indexer->head_dim), row}.of_indexer().named("wk"));
    indexer->declare_head_weights(w, hidden, "weights_proj indexers_proj");
    // Weight and bias of the norm of the key.
    w.vector({"index_n", whole(std::int64_t{2} * indexer->head_dim)});
  }

  KeptState kept() const {
    KeptState k;
    k.entry = latent();
    if (indexer) k.narrow_index_key = whole(indexer->head_dim);
    k.chosen = sparse_top_k > 0;
    return k;
  }
  // Keys and values are exchanged as those of heads, which are not grouped.
  AttentionWidths attention() const {
    return {queries() + result(), of_heads(qk_nope_dim + qk_rope_dim + value_dim)};
  }
  // Decoding runs on the latent itself.
  DecodeWidths decode() const {
    return {heads * (2.0 * kv_lora_rank + qk_rope_dim), kv_lora_rank, heads};
  }

  constexpr void divide(TensorRules& rules) const { rules.divides(heads, "attention heads"); }

  constexpr Width buffers() const {
    return whole(q_lora_rank) + latent() + 2 * queries() + (output_gate ? 3 : 2) * result();
  }

  // RecomputeModule::kMlaUpProj makes queries, keys and values again from the latents.
  static constexpr bool kUpProjections = true;
  template <class Saved>
  void save(Saved& s) const {
    const Width both = 2 * queries() + result();
    s.input({"q", "k", "v"});
    if (q_lora_rank > 0) s.norm(whole(q_lora_rank), SavedRows::kOwn);
    s.norm(whole(kv_lora_rank), SavedRows::kOwn);
    s.up_projections([&] {
      if (q_lora_rank > 0) s.operand(whole(q_lora_rank), {"q"}, SavedRows::kOwn);
      s.operand(whole(kv_lora_rank), {"k", "v"}, SavedRows::kOwn);
      s.tensor(1, both);
    });
    if (output_gate) s.tensor(2, result());
    s.attention(divided(heads), result());
    s.gradients(both);
    s.recomputed(0.5, both);
    s.recomputed(1, result());
  }

  std::string label() const { return indexer ? "indexed" : "latent"; }
  LayerFacts facts() const;
};

}  // namespace orrery
