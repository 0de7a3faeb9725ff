#include "orrery/model/architecture/stored_matrices.h"

#include <algorithm>
#include <string_view>

namespace orrery {
namespace {

using Count = std::int64_t;
using Names = std::string_view;  // one after another, with spaces between

std::vector<std::string_view> split(Names names) {
  std::vector<std::string_view> out;
  while (!names.empty()) {
    const std::size_t space = std::min(names.find(' '), names.size());
    out.push_back(names.substr(0, space));
    names.remove_prefix(std::min(space + 1, names.size()));
  }
  return out;
}

// Collects matrices whose names are every module joined to every leaf.
class Matrices {
 public:
  void add(WeightPart part, Names modules, Names leaves, Count rows, Count columns) {
    StoredMatrix m;
    m.part = part;
    for (const std::string_view module : split(modules)) {
      for (const std::string_view leaf : split(leaves)) {
        m.names.push_back(std::string(module) + "." + std::string(leaf));
      }
    }
    m.rows = rows;
    m.columns = columns;
    list_.push_back(std::move(m));
  }
  void copies(Count n) { list_.back().copies = n; }
  void keep_plain() { list_.back().kept_plain = true; }
  std::vector<StoredMatrix> take() { return std::move(list_); }

 private:
  std::vector<StoredMatrix> list_;
};

// Modules of a mixer in the checkpoints of Llama's kin, GPT's kin and Nemotron-H.
constexpr Names kAttention = "self_attn attn attention mixer self_attention";

struct MixerMatrices {
  Matrices& out;
  Count hidden;

  void mixer(Names leaves, Count rows, Count columns) const {
    out.add(WeightPart::kMixers, kAttention, leaves, rows, columns);
  }
  void indexer(Names leaves, Count rows, Count columns) const {
    out.add(WeightPart::kIndexers, "self_attn.indexer self_attn attn.indexer", leaves, rows,
            columns);
  }

  void operator()(const NoMixer&) const {}

  void operator()(const SoftmaxAttention& a) const {
    const Count q = Count{a.heads} * a.head_dim, out_width = Count{a.heads} * a.value_dim;
    mixer("q_proj qkv_proj query_key_value c_attn wq Wqkv W_pack",
          q + (a.output_gate ? out_width : 0), hidden);
    if (!a.shares_kv) {
      mixer("k_proj qkv_proj query_key_value c_attn wk", Count{a.kv_heads} * a.head_dim, hidden);
    }
    if (!a.shares_kv && !a.values_from_keys) {
      mixer("v_proj qkv_proj query_key_value c_attn wv", Count{a.kv_heads} * a.value_dim, hidden);
    }
    mixer("o_proj out_proj dense c_proj wo", hidden, out_width);
    if (a.head_gate) {
      mixer("g_proj", a.heads, hidden);
      out.keep_plain();
    }
    if (a.blocks) {
      indexer("q_proj index_q_proj", Count{a.blocks->index_heads} * a.blocks->index_dim, hidden);
      indexer("k_proj index_k_proj", a.blocks->index_dim, hidden);
    }
  }

  void operator()(const LatentAttention& a) const {
    const Count q = Count{a.heads} * (a.qk_nope_dim + a.qk_rope_dim);
    if (a.q_lora_rank == 0) {
      mixer("q_proj", q, hidden);
    } else {
      mixer("q_a_proj", a.q_lora_rank, hidden);
      mixer("q_b_proj", q, a.q_lora_rank);
    }
    mixer("kv_a_proj_with_mqa", Count{a.kv_lora_rank} + a.qk_rope_dim, hidden);
    mixer("kv_b_proj", Count{a.heads} * (a.qk_nope_dim + a.value_dim), a.kv_lora_rank);
    mixer("o_proj", hidden, Count{a.heads} * a.value_dim);
    if (a.output_gate) mixer("g_proj", Count{a.heads} * a.value_dim, hidden);
    if (!a.indexer) return;
    indexer("wq_b", Count{a.indexer->heads} * a.indexer->head_dim, a.q_lora_rank);
    indexer("wk", a.indexer->head_dim, hidden);
    indexer("weights_proj indexers_proj", a.indexer->heads, hidden);
    out.keep_plain();
  }

  void compressor(Names modules, Count width) const {
    out.add(WeightPart::kIndexers, modules, "wkv kv_proj", width, hidden);
    out.keep_plain();
    out.add(WeightPart::kIndexers, modules, "wgate gate_proj", width, hidden);
    out.keep_plain();
  }

  void operator()(const CompressedAttention& a) const {
    const Count q = Count{a.heads} * a.head_dim, groups = a.o_groups;
    const Count parts = a.overlapping ? 2 : 1;
    mixer("wq_a q_a_proj", a.q_lora_rank, hidden);
    mixer("wq_b q_b_proj", q, a.q_lora_rank);
    mixer("wkv kv_proj", a.head_dim, hidden);
    mixer("wo_a o_a_proj", groups * a.o_lora_rank, q / groups);
    mixer("wo_b o_b_proj", hidden, groups * a.o_lora_rank);
    if (a.compress > 0) compressor("attn.compressor self_attn.compressor", parts * a.head_dim);
    if (!a.indexer) return;
    compressor("attn.indexer.compressor self_attn.indexer.compressor", parts * a.indexer->head_dim);
    indexer("wq_b q_b_proj", Count{a.indexer->heads} * a.indexer->head_dim, a.q_lora_rank);
    indexer("weights_proj", a.indexer->heads, hidden);
    out.keep_plain();
  }

  void operator()(const KimiDelta& a) const {
    const Count width = Count{a.heads} * a.head_dim;
    for (const std::string_view name : {"q_proj", "k_proj", "v_proj"}) {
      mixer(name, width, hidden);
    }
    mixer("f_a_proj", a.head_dim, hidden);
    mixer("f_b_proj", width, a.head_dim);
    mixer("b_proj", a.heads, hidden);
    out.keep_plain();
    if (a.full_rank_gate) {
      mixer("g_proj", width, hidden);
    } else {
      mixer("g_a_proj", a.head_dim, hidden);
      mixer("g_b_proj", width, a.head_dim);
    }
    mixer("o_proj", hidden, width);
  }

  void operator()(const GatedDeltaNet& a) const {
    const Count k = Count{a.k_heads} * a.k_dim, v = Count{a.v_heads} * a.v_dim;
    const Names module = "linear_attn";
    out.add(WeightPart::kMixers, module, "in_proj_qkv in_proj_qkvz", 2 * k + v, hidden);
    out.add(WeightPart::kMixers, module, "in_proj_z in_proj_qkvz", v, hidden);
    for (const std::string_view name : {"in_proj_b", "in_proj_a"}) {
      out.add(WeightPart::kMixers, module, name, a.v_heads, hidden);
      out.keep_plain();
    }
    out.add(WeightPart::kMixers, module, "out_proj", hidden, v);
  }

  void operator()(const Mamba2& a) const {
    const Count inner = Count{a.heads} * a.head_dim;
    const Names modules = "mixer mamba";
    out.add(WeightPart::kMixers, modules, "in_proj",
            2 * inner + Count{2} * a.groups * a.state + a.heads, hidden);
    out.add(WeightPart::kMixers, modules, "out_proj", hidden, inner);
  }
};

// Modules of a dense MLP, and of a mixture.
constexpr Names kMlp = "mlp feed_forward ffn mixer block_sparse_moe";

constexpr Names kGate = "gate_proj gate_up_proj w1";
constexpr Names kUp = "up_proj gate_up_proj w3 fc1 c_fc dense_h_to_4h fc_in";
constexpr Names kDown = "down_proj w2 fc2 c_proj dense_4h_to_h fc_out";

constexpr Names kExperts =
    "mlp.experts.0 block_sparse_moe.experts.0 ffn.experts.0 feed_forward.experts.0 mixer.experts.0 "
    "moe.experts.0";
constexpr Names kExpertsBeside = "experts.0 moe.experts.0";
constexpr Names kShared =
    "mlp.shared_experts mlp.shared_expert ffn.shared_experts feed_forward.shared_expert "
    "mixer.shared_experts block_sparse_moe.shared_experts share_expert";
constexpr Names kRouter = "mlp block_sparse_moe ffn feed_forward mixer moe";
constexpr Names kRouterBeside = "router";

struct Triple {
  WeightPart part;
  Count width, inner, copies;
  bool gated;
};

void add_mlp(Matrices& out, const Triple& t, Names modules) {
  if (t.gated) {
    out.add(t.part, modules, kGate, t.inner, t.width);
    out.copies(t.copies);
  }
  out.add(t.part, modules, kUp, t.inner, t.width);
  out.copies(t.copies);
  out.add(t.part, modules, kDown, t.width, t.inner);
  out.copies(t.copies);
}

struct MlpMatrices {
  Matrices& out;
  Count hidden;

  void operator()(const NoMlp&) const {}

  void operator()(const DenseMlp& m) const {
    add_mlp(out, {WeightPart::kDenseMlps, hidden, m.intermediate, 1, m.gated}, kMlp);
  }

  void operator()(const MoeMlp& m) const {
    // Gemma 4 has the experts beside the MLP that every token sees.
    const bool beside = m.router_scales;
    const Triple experts{WeightPart::kRoutedExperts, m.latent > 0 ? m.latent : hidden,
                         m.intermediate, m.experts, m.gated};
    const Triple shared{WeightPart::kSharedExperts, hidden, m.shared_intermediate, 1, m.gated};
    add_mlp(out, experts, beside ? kExpertsBeside : kExperts);
    if (m.shared_intermediate > 0) add_mlp(out, shared, beside ? kMlp : kShared);
    out.add(WeightPart::kRouters, beside ? kRouterBeside : kRouter, "gate router proj", m.experts,
            hidden);
    out.keep_plain();
    if (m.shared_gate) {
      out.add(WeightPart::kRouters, "mlp", "shared_expert_gate", 1, hidden);
      out.keep_plain();
    }
    if (m.latent > 0) {
      // Kimi-K3 names none of them and stores them in 16 bits: with the experts alone in mxfp4, the
      // tensors of its index sum up to its total_size.
      const Names modules = "mixer mlp block_sparse_moe";
      out.add(WeightPart::kLatentProjections, modules, "fc1_latent_proj", m.latent, hidden);
      out.keep_plain();
      out.add(WeightPart::kLatentProjections, modules, "fc2_latent_proj", hidden, m.latent);
      out.keep_plain();
    }
  }
};

}  // namespace

std::vector<StoredMatrix> stored_matrices(const LayerSpec& layer, int hidden) {
  Matrices out;
  const MixerMatrices mixers{out, hidden};
  std::visit(mixers, layer.mixer);
  if (layer.cross_attention) mixers(*layer.cross_attention);
  std::visit(MlpMatrices{out, hidden}, layer.mlp);
  if (layer.per_layer_input > 0) {
    out.add(WeightPart::kDenseMlps, "mlp", "per_layer_input_gate", layer.per_layer_input, hidden);
    out.keep_plain();
    out.add(WeightPart::kDenseMlps, "mlp", "per_layer_projection", hidden, layer.per_layer_input);
    out.keep_plain();
  }
  return out.take();
}

}  // namespace orrery
