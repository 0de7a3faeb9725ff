#include "orrery/memory/kv_cache.h"

#include <algorithm>

#include "orrery/workload/ops/op.h"

namespace orrery {
namespace {

constexpr double kStateBytes = 4;  // fp32

double whole_blocks(std::int64_t tokens, std::int64_t block) {
  const std::int64_t blocks = (tokens + block - 1) / block;
  return static_cast<double>(blocks * block);
}

// Bytes of a whole number of elements of an entry.
Bytes entry_bytes(const KeptState& kept, double elements, const Precision& precision) {
  return kept.rotated > 0
             ? compressed_entry_bytes(static_cast<int>(elements), kept.rotated, precision.kv_cache)
             : elements * bytes_per_element(precision.kv_cache);
}

}  // namespace

Bytes layer_kv(const KeptState& kept, int tp, const Precision& precision, std::int64_t tokens,
               std::int64_t block) {
  if (kept.cached().total() == 0 || kept.tokens_per_entry == 0) return Bytes(0);
  const std::int64_t in_sight =
      kept.window > 0 ? std::min<std::int64_t>(tokens, kept.window) : tokens;
  const double narrow = kept.narrow_index_key.on_rank(tp);
  const Bytes entry = entry_bytes(kept, kept.entry.on_rank(tp), precision) +
                      kept.index_key.on_rank(tp) * bytes_per_element(precision.activations) +
                      (narrow > 0 ? index_key_bytes(static_cast<int>(narrow)) : Bytes(0));
  // An entry that is not complete has its share of a block.
  return whole_blocks(in_sight, block) / kept.tokens_per_entry * entry;
}

Bytes layer_state(const KeptState& kept, int tp, const Precision& precision) {
  const double wide = kept.recurrent.on_rank(tp) + static_cast<double>(kept.waiting);
  return kept.window_entries * entry_bytes(kept, kept.entry.on_rank(tp), precision) +
         Bytes(wide * kStateBytes) +
         kept.convolution.on_rank(tp) * bytes_per_element(precision.activations);
}

Bytes stage_state(const Architecture& model, const ParallelPlan& plan, const Precision& precision,
                  int stage) {
  Bytes sum;
  if (model.kind == Kind::kEncoder) return sum;
  const StageLayers range = stage_layers(model.layers.size(), plan.pp, stage);
  for (std::size_t spec = 0; spec < model.layers.specs().size(); ++spec)
    sum += layer_state(kept_state(model.layers.specs()[spec].mixer), plan.tp, precision) *
           model.layers.count(static_cast<int>(spec), range.first, range.last);
  return sum;
}

Bytes stage_kv(const Architecture& model, const ParallelPlan& plan, const Precision& precision,
               int stage, std::int64_t tokens, std::int64_t block) {
  Bytes sum = stage_state(model, plan, precision, stage);
  if (model.kind == Kind::kEncoder) return sum;
  const StageLayers range = stage_layers(model.layers.size(), plan.pp, stage);
  for (std::size_t spec = 0; spec < model.layers.specs().size(); ++spec)
    sum +=
        layer_kv(kept_state(model.layers.specs()[spec].mixer), plan.tp, precision, tokens, block) /
        plan.cp * model.layers.count(static_cast<int>(spec), range.first, range.last);
  return sum;
}

}  // namespace orrery
