// Compressed attention of DeepSeek-V4 (sections 2.3.1 and 2.3.2 of its report;
// modeling_deepseek_v4.py of transformers).
//
// All heads share one KV head, whose key is its value too. A query sees the last `window` tokens,
// and entries that each stand for `compress` tokens: all of them (heavily compressed attention,
// HCA), or the `top_k` that an indexer picks (compressed sparse attention, CSA). An entry is a
// gated sum over its tokens; with `overlapping` windows, over those of the entry before it as well,
// which doubles the width of the compressor.
//
// Ranks divide heads and groups of output projections. Every rank holds the projections to the
// query latent and to the shared KV head, the compressor, and the indexer (deepseek_v4.py of vLLM
// and of SGLang).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "orrery/model/layers/kept_state.h"
#include "orrery/model/layers/layer_facts.h"
#include "orrery/model/layers/layer_weights.h"
#include "orrery/model/layers/layer_work.h"
#include "orrery/model/layers/sparse_indexer.h"
#include "orrery/model/layers/tensor_rules.h"

namespace orrery {

struct CompressedAttention {
  static constexpr std::string_view kKind = "latent";

  int heads = 0;
  int head_dim = 0;
  int rope_dim = 0;  // the part of head_dim that is rotated
  int q_lora_rank = 0;
  int o_groups = 1;
  int o_lora_rank = 0;
  int window = 0;
  int compress = 0;  // tokens of an entry; 0: the window alone
  bool overlapping = false;
  int top_k = 0;                         // entries that a query reads; 0: all
  std::optional<SparseIndexer> indexer;  // present if top_k > 0
  bool operator==(const CompressedAttention&) const = default;

  constexpr Width queries() const { return divided(std::int64_t{heads} * head_dim); }
  // Outputs of the first output projection, a matrix of o_lora_rank outputs for each group.
  constexpr Width output_latents() const { return divided(std::int64_t{o_groups} * o_lora_rank); }
  // Series of keys and values that a compressor sums.
  constexpr int series() const { return overlapping ? 2 : 1; }

  template <class Weights>
  constexpr void declare(Weights& w, std::int64_t hidden) const {
    const Width row = whole(hidden);
    w.matrix(
        {.role = "q_a", .outputs = whole(q_lora_rank), .inputs = row, .leaves = "wq_a q_a_proj"});
    w.matrix(LayerMatrix{"q_b", queries(), whole(q_lora_rank)}.named("wq_b q_b_proj"));
    w.matrix(LayerMatrix{"kv", whole(head_dim), row}.named("wkv kv_proj"));
    w.matrix(LayerMatrix{"o_a", output_latents(), whole(queries().total() / o_groups)}.named(
        "wo_a o_a_proj"));
    w.matrix(
        {.role = "o_b", .outputs = row, .inputs = output_latents(), .leaves = "wo_b o_b_proj"});
    w.vector({"norms", whole(std::int64_t{q_lora_rank} + head_dim)});
    w.vector({"sinks", divided(heads)});
    if (compress > 0)
      declare_compressor(w, hidden,
                         {"comp_kv", "comp_g", head_dim, "attn.compressor self_attn.compressor"});
    if (!indexer) return;
    declare_compressor(w, hidden,
                       {"icomp_kv", "icomp_g", indexer->head_dim,
                        "attn.indexer.compressor self_attn.indexer.compressor"});
    indexer->declare_queries(w, q_lora_rank, "wq_b q_b_proj");
    indexer->declare_head_weights(w, hidden, "weights_proj");
  }

  KeptState kept() const {
    KeptState k;
    k.entry = whole(head_dim);
    k.tokens_per_entry = compress;
    k.rotated = rope_dim;
    if (indexer) k.narrow_index_key = whole(indexer->head_dim);
    k.chosen = top_k > 0;
    k.window_entries = window;
    // kv and gate of `compress` tokens, of twice as many and twice as wide with overlapping windows
    // (get_compress_state_ring_size, deepseek_v4_memory_pool.py of SGLang).
    const std::int64_t width = head_dim + (indexer ? indexer->head_dim : 0);
    k.waiting = std::int64_t{compress} * series() * 2 * series() * width;
    return k;
  }
  // The fraction of an entry that each cached token adds.
  DecodeWidths decode() const {
    return {2.0 * heads * head_dim / (compress > 0 ? compress : 1), head_dim, 1};
  }

  constexpr void divide(TensorRules& rules) const {
    rules.divides(heads, "attention heads");
    rules.divides(o_groups, "groups of output projections");
  }

  constexpr Width buffers() const {
    return whole(std::int64_t{q_lora_rank} + (overlapping ? 5 : 3) * head_dim) + 2 * queries() +
           output_latents();
  }

  template <class Saved>
  void save(Saved&) const {}  // it is not trained
  constexpr std::string_view untrained() const { return "compressed attention (DeepSeek-V4)"; }

  std::string label() const { return compress == 0 ? "windowed" : top_k > 0 ? "csa" : "hca"; }
  LayerFacts facts() const;

 private:
  // A compressor to entries: kv and gate, a bias for each token of an entry, and a norm.
  struct Compressor {
    WeightRole kv, gate;
    int dim;  // elements of an entry
    std::string_view modules;
  };
  template <class Weights>
  constexpr void declare_compressor(Weights& w, std::int64_t hidden, const Compressor& c) const {
    const Width width = whole(std::int64_t{series()} * c.dim), row = whole(hidden);
    w.matrix(LayerMatrix{c.kv, width, row}.of_indexer(c.modules).named("wkv kv_proj").plain());
    w.matrix(
        LayerMatrix{c.gate, width, row}.of_indexer(c.modules).named("wgate gate_proj").plain());
    w.vector({"comp_b", std::int64_t{compress} * width + whole(c.dim)});
  }
};

}  // namespace orrery
