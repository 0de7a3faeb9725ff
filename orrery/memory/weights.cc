#include "orrery/memory/weights.h"

#include <utility>

#include "orrery/model/architecture/parameters.h"

namespace orrery {
namespace {

// Numbers of elements, by the format in which they are stored.
struct Held {
  double matrices = 0;  // Precision::weights
  double experts = 0;   // Precision::experts
  double plain = 0;     // Precision::activations
  double mixers = 0;    // Precision::mixer_weights()
  Held& operator+=(const Held& o) {
    matrices += o.matrices;
    experts += o.experts;
    plain += o.plain;
    mixers += o.mixers;
    return *this;
  }
};

double norm_elements(Norm norm, double width) { return norm == Norm::kLayer ? 2 * width : width; }

struct MixerOnRank {
  double hidden;
  int tp;

  Held operator()(const NoMixer&) const { return {}; }

  Held operator()(const SoftmaxAttention& a) const {
    const double kv_heads = kv_heads_per_rank(a.kv_heads, tp);
    const double q = static_cast<double>(a.heads) * a.head_dim / tp;
    const double k = kv_heads * a.head_dim, v = kv_heads * a.value_dim;
    const double out = static_cast<double>(a.heads) * a.value_dim / tp;
    Held held;
    const double keys = a.shares_kv ? 0 : k;
    const double values = a.shares_kv || a.values_from_keys ? 0 : v;
    held.matrices = hidden * (q + keys + values + out + (a.output_gate ? out : 0) +
                              (a.head_gate ? static_cast<double>(a.heads) / tp : 0));
    if (a.blocks) {
      // Index heads are divided as the KV heads that they serve; every rank has the index key.
      const double heads = kv_heads_per_rank(a.blocks->index_heads, tp);
      held.matrices += hidden * (heads + 1) * a.blocks->index_dim;
      held.plain += 2 * a.blocks->index_dim;
    }
    held.plain += (a.q_bias ? q + (a.output_gate ? out : 0) : 0) + (a.k_bias ? k : 0) +
                  (a.v_bias ? v : 0) + (a.o_bias ? hidden : 0) +
                  (a.sinks ? static_cast<double>(a.heads) / tp : 0);
    if (a.qk_norm == QkNorm::kPerHead) held.plain += 2 * a.head_dim;
    if (a.qk_norm == QkNorm::kFull) held.plain += q + k;
    return held;
  }

  Held operator()(const LatentAttention& a) const {
    const double heads = static_cast<double>(a.heads) / tp;
    const double q = heads * (a.qk_nope_dim + a.qk_rope_dim);
    Held held;
    held.matrices = hidden * (a.kv_lora_rank + a.qk_rope_dim) +
                    a.kv_lora_rank * heads * (a.qk_nope_dim + a.value_dim) +
                    heads * a.value_dim * hidden +
                    (a.q_lora_rank == 0 ? hidden * q : a.q_lora_rank * (hidden + q));
    if (a.output_gate) held.matrices += hidden * heads * a.value_dim;
    held.plain = a.q_lora_rank + a.kv_lora_rank;
    if (a.indexer) {
      held.matrices += static_cast<double>(a.q_lora_rank) * a.indexer->heads * a.indexer->head_dim +
                       hidden * (a.indexer->head_dim + a.indexer->heads);
      held.plain += 2 * a.indexer->head_dim;
    }
    return held;
  }

  // Heads and groups of output projections are divided; every rank holds the projections to the
  // query latent and to the shared KV head, the compressor, and the indexer (deepseek_v4.py of vLLM
  // and of SGLang).
  Held operator()(const CompressedAttention& a) const {
    const double q = static_cast<double>(a.heads) * a.head_dim / tp;
    const double parts = a.overlapping ? 2 : 1;
    const auto compressor = [&](double dim) {
      return Held{hidden * 2 * parts * dim, 0, a.compress * parts * dim + dim};
    };
    Held held{hidden * (a.q_lora_rank + a.head_dim) + a.q_lora_rank * q + q * a.o_lora_rank +
                  static_cast<double>(a.o_groups) / tp * a.o_lora_rank * hidden,
              0, a.q_lora_rank + a.head_dim + static_cast<double>(a.heads) / tp};
    if (a.compress > 0) held += compressor(a.head_dim);
    if (a.indexer) {
      held += compressor(a.indexer->head_dim);
      held.matrices += static_cast<double>(a.q_lora_rank) * a.indexer->heads * a.indexer->head_dim +
                       hidden * a.indexer->heads;
    }
    return held;
  }

  // Heads are divided; every rank holds the low-rank halves that all heads share.
  Held operator()(const KimiDelta& a) const {
    const double width = static_cast<double>(a.heads) * a.head_dim / tp;
    const double heads = static_cast<double>(a.heads) / tp;
    const double low_rank = (hidden + width) * a.head_dim;
    return {
        hidden * (4 * width + heads) + low_rank + (a.full_rank_gate ? hidden * width : low_rank), 0,
        3 * a.conv * width + width + heads + a.head_dim};
  }

  Held operator()(const GatedDeltaNet& a) const {
    const double k = static_cast<double>(a.k_heads) * a.k_dim / tp;
    const double v = static_cast<double>(a.v_heads) * a.v_dim / tp;
    const double v_heads = static_cast<double>(a.v_heads) / tp;
    return {hidden * (2 * k + 2 * v + 2 * v_heads + v), 0,
            a.conv * (2 * k + v) + 2 * v_heads + a.v_dim};
  }

  Held operator()(const Mamba2& a) const {
    const double inner = static_cast<double>(a.heads) * a.head_dim / tp;
    const double channels = inner + 2.0 * kv_heads_per_rank(a.groups, tp) * a.state;
    const double heads = static_cast<double>(a.heads) / tp;
    return {hidden * (inner + channels + heads + inner), 0,
            channels * (a.conv + (a.conv_bias ? 1 : 0)) + 3 * heads + inner};
  }
};

struct MlpOnRank {
  double hidden;
  const ParallelPlan& plan;

  Held operator()(const NoMlp&) const { return {}; }

  Held operator()(const DenseMlp& m) const {
    const double width = static_cast<double>(m.intermediate) / plan.tp;
    const double inputs = m.gated ? 2 : 1;
    return {(inputs + 1) * hidden * width, 0, m.bias ? inputs * width + hidden : 0};
  }

  Held operator()(const MoeMlp& m) const {
    const double experts = static_cast<double>(m.experts + plan.experts.redundant) / plan.ep;
    const double width = static_cast<double>(m.intermediate) / plan.moe_tp();
    const double inputs = m.gated ? 2 : 1;
    Held held;
    held.experts = experts * (inputs + 1) * (m.latent > 0 ? m.latent : hidden) * width;
    held.matrices = (inputs + 1) * hidden * m.shared_intermediate / plan.tp;
    held.plain = hidden * m.experts + (m.router_bias ? m.experts : 0) +
                 (m.shared_gate ? hidden : 0) + (m.bias ? experts * (inputs * width + hidden) : 0) +
                 (m.router_scales ? hidden + m.experts : 0) + 2 * hidden * m.latent +
                 (m.latent_norm ? m.latent : 0);
    return held;
  }
};

Held layer_on_rank(const LayerSpec& layer, const Architecture& model, const ParallelPlan& plan) {
  const double hidden = model.hidden;
  Held held = std::visit(MixerOnRank{hidden, plan.tp}, layer.mixer);
  held.mixers = std::exchange(held.matrices, 0);
  held += std::visit(MlpOnRank{hidden, plan}, layer.mlp);
  held.plain += layer.norms * norm_elements(model.norm, hidden);
  // Every rank holds the weights that join residual streams or blocks, and those of the per-layer
  // input.
  const LayerParameters n = count_parameters(layer, model.hidden, model.norm);
  held.plain += static_cast<double>(n.residual + n.per_layer_input);
  return held;
}

// Rows of the embedding and the LM head are padded to a multiple of 64 (vLLM, Megatron).
double vocabulary_on_rank(const Architecture& model, int tp) {
  constexpr int kRows = 64;
  const auto groups = (model.vocab + kRows - 1) / kRows;
  return static_cast<double>(groups * kRows) / tp;
}

}  // namespace

Bytes stage_weights(const Architecture& model, const ParallelPlan& plan, const Precision& precision,
                    int stage) {
  const StageLayers range = stage_layers(model.layers.size(), plan.pp, stage);
  const bool first = stage == 0, last = stage == plan.pp - 1;
  const double hidden = model.hidden;
  const double norm = norm_elements(model.norm, hidden);
  const double table = vocabulary_on_rank(model, plan.tp) * hidden;

  Held held;
  for (std::size_t spec = 0; spec < model.layers.specs().size(); ++spec) {
    const Held one = layer_on_rank(model.layers.specs()[spec], model, plan);
    const double count = model.layers.count(static_cast<int>(spec), range.first, range.last);
    held += {one.matrices * count, one.experts * count, one.plain * count, one.mixers * count};
  }
  if (first) {
    const ParameterCounts n = count_parameters(model);
    held.plain += static_cast<double>(n.towers + n.per_layer_inputs) / plan.tp;
    held.plain += table + hidden * (model.position_rows + model.token_types) +
                  (model.embedding_norm ? norm : 0);
  }
  double lm_head = 0;
  if (last) {
    held.plain += model.final_norm ? norm : 0;
    if (model.lm_head && !(model.tied_embeddings && first)) lm_head = table;
    if (model.lm_head_bias) held.plain += vocabulary_on_rank(model, plan.tp);
    if (model.lm_head_transform) held.plain += hidden * hidden + hidden + norm;
    if (model.pooler) held.plain += hidden * hidden + hidden + 2 * hidden + 2;
  }
  return held.matrices * properties(precision.weights).weight +
         held.mixers * properties(precision.mixer_weights()).weight +
         held.experts * properties(precision.experts).weight +
         lm_head * properties(model.tied_embeddings ? plain_format(precision.activations)
                                                    : precision.lm_head)
                       .weight +
         held.plain * bytes_per_element(precision.activations);
}

}  // namespace orrery
