#include "orrery/model/architecture/parameters.h"

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
    Count n = matrix(hidden, q, a.q_bias) + matrix(out, hidden, a.o_bias);
    if (!a.shares_kv) n += matrix(hidden, k, a.k_bias);
    if (!a.shares_kv && !a.values_from_keys) n += matrix(hidden, v, a.v_bias);
    if (a.output_gate) n += matrix(hidden, out, a.q_bias);
    if (a.head_gate) n += matrix(hidden, a.heads);
    if (a.qk_norm == QkNorm::kPerHead) n += Count{a.shares_kv ? 1 : 2} * a.head_dim;
    if (a.qk_norm == QkNorm::kFull) n += q + k;
    if (a.sinks) n += a.heads;
    if (a.blocks) {
      n += matrix(hidden, Count{a.blocks->index_heads + 1} * a.blocks->index_dim) +
           Count{2} * a.blocks->index_dim;
    }
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
    if (a.output_gate) n += matrix(hidden, Count{a.heads} * a.value_dim);
    if (a.indexer) {
      n += matrix(a.q_lora_rank, Count{a.indexer->heads} * a.indexer->head_dim) +
           matrix(hidden, a.indexer->head_dim) + Count{2} * a.indexer->head_dim +
           matrix(hidden, a.indexer->heads);
    }
    return n;
  }

  // The two projections of a compressor, its bias and its norm.
  Count compressor(const CompressedAttention& a, Count dim) const {
    const Count width = (a.overlapping ? 2 : 1) * dim;
    return 2 * matrix(hidden, width) + a.compress * width + dim;
  }

  Count operator()(const CompressedAttention& a) const {
    const Count q = Count{a.heads} * a.head_dim;
    Count n = matrix(hidden, a.q_lora_rank) + a.q_lora_rank + matrix(a.q_lora_rank, q) +
              matrix(hidden, a.head_dim) + a.head_dim + a.heads + q * a.o_lora_rank +
              matrix(Count{a.o_groups} * a.o_lora_rank, hidden);
    if (a.compress > 0) n += compressor(a, a.head_dim);
    if (a.indexer) {
      n += compressor(a, a.indexer->head_dim) +
           matrix(a.q_lora_rank, Count{a.indexer->heads} * a.indexer->head_dim) +
           matrix(hidden, a.indexer->heads);
    }
    return n;
  }

  Count operator()(const KimiDelta& a) const {
    const Count width = Count{a.heads} * a.head_dim;
    const Count gate = a.full_rank_gate ? matrix(hidden, width)
                                        : matrix(hidden, a.head_dim) + matrix(a.head_dim, width);
    return 3 * (matrix(hidden, width) + a.conv * width) + matrix(hidden, a.head_dim) +
           matrix(a.head_dim, width, true) + a.heads + matrix(hidden, a.heads) + gate + a.head_dim +
           matrix(width, hidden);
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

// Parameters with which one half of a layer reads and writes `streams` residual streams.
Count stream_weights(int streams, Count hidden) {
  const Count rows = Count{2 + streams} * streams;
  return matrix(rows, streams * hidden) + rows + 3;
}

// Parameters beside the layers for residuals that are not plain: those of the sum of streams before
// the final norm, or the query and norm of the last sum of blocks.
Count residual_head(const LayerSpec& last, Count hidden) {
  const Count streams = last.residual_streams;
  if (streams > 1) return matrix(streams, streams * hidden) + streams + 1;
  return last.residual_sources > 0 ? 2 * hidden : 0;
}

// The table of per-layer inputs, the projection of the embedding to them and its norm.
Count per_layer_tables(const Architecture& model) {
  if (model.per_layer_vocab == 0 || model.layers.empty()) return 0;
  const Count width = model.layers.at(0).per_layer_input;
  const Count all = width * model.layers.size();
  return Count{model.per_layer_vocab} * all + matrix(model.hidden, all) + width;
}

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
    const Count width = moe->latent > 0 ? moe->latent : hidden;
    n.expert = mlp_size(width, moe->intermediate, moe->gated, moe->bias);
    n.router = matrix(hidden, moe->experts, moe->router_bias) +
               (moe->router_scales ? hidden + moe->experts : 0);
    if (moe->latent > 0) {
      n.latent = 2 * matrix(hidden, moe->latent) + (moe->latent_norm ? moe->latent : 0);
    }
    if (moe->shared_intermediate > 0) {
      n.shared_experts = mlp_size(hidden, moe->shared_intermediate, moe->gated, false);
    }
    if (moe->shared_gate) n.shared_experts += hidden;
  }
  n.norms = layer.norms * norm_size(norm, hidden);
  if (layer.residual_streams > 1) n.residual = 2 * stream_weights(layer.residual_streams, hidden);
  if (layer.residual_sources > 0) n.residual = Count{4} * hidden;
  if (layer.per_layer_input > 0) {
    n.per_layer_input = 2 * matrix(hidden, layer.per_layer_input) + norm_size(norm, hidden);
  }
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
  if (!model.layers.empty()) {
    n.positions += residual_head(model.layers.at(model.layers.size() - 1), hidden);
  }
  n.per_layer_inputs = per_layer_tables(model);
  for (const Tower& tower : model.towers) n.towers += tower.parameters;
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

std::int64_t checkpoint_parameters(const Architecture& model) {
  const ParameterCounts n = count_parameters(model);
  Count all = n.total() + n.mtp;
  if (model.mtp && model.mtp->copies_tables) {
    all += 2 * model.mtp->layers * Count{model.vocab} * model.hidden;
  }
  return all;
}

Bytes checkpoint_bytes(const Architecture& model) {
  Count plain = checkpoint_parameters(model);
  Bytes bytes;
  for (const StoredPart& part : model.quantization.parts) {
    plain -= part.elements;
    bytes += part.bytes;
  }
  return bytes + static_cast<double>(plain) * bytes_per_element(model.dtype);
}

}  // namespace orrery
