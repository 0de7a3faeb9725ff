#include "orrery/memory/kv_cache.h"

#include <algorithm>

#include "orrery/workload/ops/op.h"

namespace orrery {
namespace {

constexpr double kStateBytes = 4;         // fp32
constexpr double kIndexerScaleBytes = 4;  // one fp32 scale for each token

double whole_blocks(std::int64_t tokens, std::int64_t block) {
  const std::int64_t blocks = (tokens + block - 1) / block;
  return static_cast<double>(blocks * block);
}

// Window of a sequence, and kv and gate of the tokens whose entry is not complete, of the
// compressor and of the indexer's, in 32 bits; with overlapping windows also those of the entry
// before.
Bytes compressed_state(const CompressedAttention& a, const Precision& precision) {
  const double series = a.overlapping ? 2 : 1;
  const double width = a.head_dim + (a.indexer ? a.indexer->head_dim : 0);
  const double waiting = a.compress > 0 ? a.compress * series * 2 * series * width : 0;
  return a.window * compressed_entry_bytes(a.head_dim, a.rope_dim, precision.kv_cache) +
         Bytes(waiting * kStateBytes);
}

}  // namespace

Bytes layer_kv(const Mixer& mixer, int tp, const Precision& precision, std::int64_t tokens,
               std::int64_t block) {
  const Bytes element = bytes_per_element(precision.kv_cache);
  if (const auto* a = std::get_if<SoftmaxAttention>(&mixer)) {
    if (a->shares_kv) return Bytes(0);
    const std::int64_t kept = a->window > 0 ? std::min<std::int64_t>(tokens, a->window) : tokens;
    const double index = a->blocks ? a->blocks->index_dim : 0;
    return whole_blocks(kept, block) *
           (static_cast<double>(kv_heads_per_rank(a->kv_heads, tp)) *
                static_cast<double>(a->head_dim + a->value_dim) * element +
            index * bytes_per_element(precision.activations));
  }
  if (const auto* a = std::get_if<CompressedAttention>(&mixer)) {
    if (a->compress == 0) return Bytes(0);
    // An entry that is not complete has its share of a block.
    return whole_blocks(tokens, block) / a->compress *
           (compressed_entry_bytes(a->head_dim, a->rope_dim, precision.kv_cache) +
            (a->indexer ? index_key_bytes(a->indexer->head_dim) : Bytes(0)));
  }
  if (std::holds_alternative<LatentAttention>(mixer)) {
    const auto indexer = static_cast<double>(indexer_elements_per_token(mixer));
    const Bytes a_token = static_cast<double>(kv_elements_per_token(mixer)) * element +
                          Bytes(indexer > 0 ? indexer + kIndexerScaleBytes : 0);
    return whole_blocks(tokens, block) * a_token;
  }
  return Bytes(0);
}

Bytes layer_state(const Mixer& mixer, int tp, const Precision& precision) {
  if (const auto* a = std::get_if<CompressedAttention>(&mixer)) {
    return compressed_state(*a, precision);
  }
  const double convolution = static_cast<double>(conv_state_elements(mixer)) / tp;
  return Bytes(static_cast<double>(state_elements(mixer)) / tp * kStateBytes) +
         convolution * bytes_per_element(precision.activations);
}

Bytes stage_state(const Architecture& model, const ParallelPlan& plan, const Precision& precision,
                  int stage) {
  Bytes sum;
  if (model.kind == Kind::kEncoder) return sum;
  const StageLayers range = stage_layers(model.layers.size(), plan.pp, stage);
  for (std::size_t spec = 0; spec < model.layers.specs().size(); ++spec)
    sum += layer_state(model.layers.specs()[spec].mixer, plan.tp, precision) *
           model.layers.count(static_cast<int>(spec), range.first, range.last);
  return sum;
}

Bytes stage_kv(const Architecture& model, const ParallelPlan& plan, const Precision& precision,
               int stage, std::int64_t tokens, std::int64_t block) {
  Bytes sum = stage_state(model, plan, precision, stage);
  if (model.kind == Kind::kEncoder) return sum;
  const StageLayers range = stage_layers(model.layers.size(), plan.pp, stage);
  for (std::size_t spec = 0; spec < model.layers.specs().size(); ++spec)
    sum += layer_kv(model.layers.specs()[spec].mixer, plan.tp, precision, tokens, block) / plan.cp *
           model.layers.count(static_cast<int>(spec), range.first, range.last);
  return sum;
}

}  // namespace orrery
