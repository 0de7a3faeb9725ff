#include "orrery/model/parameters.h"

namespace orrery {
namespace {

using Count = std::int64_t;

Count matrix(Count rows, Count columns, bool bias = false) {
  return rows * columns + (bias ? columns : 0);
}

Count norm_size(Norm norm, Count width) { return norm == Norm::kLayer ? 2 * width : width; }

Count mlp_size(Count hidden, Count intermediate, bool gated, bool bias) {
  return (gated ? 2 : 1) * matrix(hidden, intermediate, bias) + matrix(intermediate, hidden, bias);
}

struct MixerSize {
  Count hidden;

  Count operator()(const NoMixer&) const { return 0; }

  Count operator()(const SoftmaxAttention& a) const {
    const Count q = Count{a.heads} * a.head_dim;
    const Count k = Count{a.kv_heads} * a.head_dim;
    const Count v = Count{a.kv_heads} * a.value_dim;
    const Count out = Count{a.heads} * a.value_dim;
    Count n = matrix(hidden, q, a.q_bias) + matrix(hidden, k, a.k_bias) +
              matrix(hidden, v, a.v_bias) + matrix(out, hidden, a.o_bias);
    if (a.output_gate) n += matrix(hidden, out, a.q_bias);
    if (a.qk_norm == QkNorm::kPerHead) n += Count{2} * a.head_dim;
    if (a.qk_norm == QkNorm::kFull) n += q + k;
    if (a.sinks) n += a.heads;
    return n;
  }

  Count operator()(const LatentAttention& a) const {
    const Count q = Count{a.heads} * (a.qk_nope_dim + a.qk_rope_dim);
    const Count kv = Count{a.heads} * (a.qk_nope_dim + a.value_dim);
    Count n = a.q_lora_rank == 0
                  ? matrix(hidden, q)
                  : matrix(hidden, a.q_lora_rank) + a.q_lora_rank + matrix(a.q_lora_rank, q);
    n += matrix(hidden, Count{a.kv_lora_rank} + a.qk_rope_dim) + a.kv_lora_rank +
         matrix(a.kv_lora_rank, kv) + matrix(Count{a.heads} * a.value_dim, hidden);
    if (a.indexer) {
      n += matrix(a.q_lora_rank, Count{a.indexer->heads} * a.indexer->head_dim) +
           matrix(hidden, a.indexer->head_dim) + Count{2} * a.indexer->head_dim +
           matrix(hidden, a.indexer->heads);
    }
    return n;
  }

  Count operator()(const GatedDeltaNet& a) const {
    const Count k = Count{a.k_heads} * a.k_dim;
    const Count v = Count{a.v_heads} * a.v_dim;
    return matrix(hidden, 2 * k + 2 * v + Count{2} * a.v_heads) + a.conv * (2 * k + v) +
           Count{2} * a.v_heads + a.v_dim + matrix(v, hidden);
  }

  Count operator()(const Mamba2& a) const {
    const Count inner = Count{a.heads} * a.head_dim;
    const Count channels = inner + Count{2} * a.groups * a.state;
    return matrix(hidden, inner + channels + a.heads) +
           channels * (a.conv + (a.conv_bias ? 1 : 0)) + Count{3} * a.heads + inner +
           matrix(inner, hidden);
  }
};

Count stack_size(const LayerStack& stack, const Architecture& model, bool active) {
  Count n = 0;
  for (std::size_t i = 0; i < stack.specs().size(); ++i) {
    const LayerParameters one = count_parameters(stack.specs()[i], model.hidden, model.norm);
    n += stack.count(static_cast<int>(i)) * (active ? one.active() : one.total());
  }
  return n;
}

// T5 has one table of relative positions a stack, read by every layer's heads.
Count relative_size(const LayerStack& stack, int buckets) {
  if (stack.empty()) return 0;
  const auto* a = std::get_if<SoftmaxAttention>(&stack.at(0).mixer);
  return a != nullptr ? Count{buckets} * a->heads : 0;
}

}  // namespace

LayerParameters count_parameters(const LayerSpec& layer, int hidden, Norm norm) {
  LayerParameters n;
  const MixerSize mixer{hidden};
  n.mixer = std::visit(mixer, layer.mixer);
  if (layer.cross_attention) n.cross_attention = mixer(*layer.cross_attention);
  if (const auto* m = std::get_if<DenseMlp>(&layer.mlp)) {
    n.mlp = mlp_size(hidden, m->intermediate, m->gated, m->bias);
  } else if (const auto* moe = std::get_if<MoeMlp>(&layer.mlp)) {
    n.experts = moe->experts;
    n.top_k = moe->top_k;
    n.expert = mlp_size(hidden, moe->intermediate, moe->gated, moe->bias);
    n.router = matrix(hidden, moe->experts, moe->router_bias);
    if (moe->shared_intermediate > 0) {
      n.shared_experts = mlp_size(hidden, moe->shared_intermediate, moe->gated, false);
    }
    if (moe->shared_gate) n.shared_experts += hidden;
  }
  n.norms = layer.norms * norm_size(norm, hidden);
  return n;
}

ParameterCounts count_parameters(const Architecture& model) {
  const Count hidden = model.hidden;
  const Count vocab = model.vocab;
  const Count norm = norm_size(model.norm, hidden);
  ParameterCounts n;
  n.tied = model.tied_embeddings;
  n.embedding = vocab * hidden;
  n.positions = (Count{model.position_rows} + model.token_types) * hidden +
                (model.embedding_norm ? norm : 0) +
                relative_size(model.layers, model.relative_buckets) +
                relative_size(model.encoder, model.relative_buckets);
  n.layers = stack_size(model.layers, model, false) + stack_size(model.encoder, model, false);
  n.layers_active = stack_size(model.layers, model, true) + stack_size(model.encoder, model, true);
  if (model.final_norm) n.final_norms = (model.kind == Kind::kEncoderDecoder ? 2 : 1) * norm;
  if (model.lm_head) {
    n.lm_head = (model.tied_embeddings ? 0 : vocab * hidden) + (model.lm_head_bias ? vocab : 0);
    if (model.lm_head_transform) n.lm_head += matrix(hidden, hidden, true) + norm;
  }
  if (model.pooler) n.pooler = matrix(hidden, hidden, true) + matrix(hidden, 2, true);
  if (model.mtp) {
    const Count one = count_parameters(model.mtp->layer, model.hidden, model.norm).total();
    n.mtp = model.mtp->layers * (one + matrix(2 * hidden, hidden) + 3 * norm);
  }
  return n;
}

}  // namespace orrery
