#include "orrery/model/architecture/mixers.h"

namespace orrery {

std::int64_t kv_elements_per_token(const Mixer& mixer) {
  if (const auto* a = std::get_if<SoftmaxAttention>(&mixer)) {
    return a->shares_kv ? 0 : std::int64_t{a->kv_heads} * (a->head_dim + a->value_dim);
  }
  if (const auto* a = std::get_if<LatentAttention>(&mixer)) return a->kv_lora_rank + a->qk_rope_dim;
  if (const auto* a = std::get_if<CompressedAttention>(&mixer)) return a->head_dim;
  return 0;
}

std::int64_t indexer_elements_per_token(const Mixer& mixer) {
  if (const auto* a = std::get_if<SoftmaxAttention>(&mixer)) {
    return a->blocks ? a->blocks->index_dim : 0;
  }
  if (const auto* a = std::get_if<LatentAttention>(&mixer)) {
    return a->indexer ? a->indexer->head_dim : 0;
  }
  if (const auto* a = std::get_if<CompressedAttention>(&mixer)) {
    return a->indexer ? a->indexer->head_dim : 0;
  }
  return 0;
}

std::int64_t state_elements(const Mixer& mixer) {
  if (const auto* a = std::get_if<GatedDeltaNet>(&mixer)) {
    return std::int64_t{a->v_heads} * a->k_dim * a->v_dim;
  }
  if (const auto* a = std::get_if<KimiDelta>(&mixer)) {
    return std::int64_t{a->heads} * a->head_dim * a->head_dim;
  }
  if (const auto* a = std::get_if<Mamba2>(&mixer)) {
    return std::int64_t{a->heads} * a->head_dim * a->state;
  }
  return 0;
}

std::int64_t conv_state_elements(const Mixer& mixer) {
  if (const auto* a = std::get_if<GatedDeltaNet>(&mixer)) {
    const std::int64_t channels =
        std::int64_t{2} * a->k_heads * a->k_dim + std::int64_t{a->v_heads} * a->v_dim;
    return (a->conv - 1) * channels;
  }
  if (const auto* a = std::get_if<KimiDelta>(&mixer)) {
    return std::int64_t{3} * a->heads * a->head_dim * (a->conv - 1);
  }
  if (const auto* a = std::get_if<Mamba2>(&mixer)) {
    const std::int64_t channels =
        std::int64_t{a->heads} * a->head_dim + std::int64_t{2} * a->groups * a->state;
    return (a->conv - 1) * channels;
  }
  return 0;
}

}  // namespace orrery
