#include "orrery/memory/expert_buffers.h"

#include <algorithm>

namespace orrery {
namespace {

// Most tokens that a rank sends at once: the default of SGLang
// (SGLANG_DEEPEP_NUM_MAX_DISPATCH_TOKENS_PER_RANK) and of DeepEP's example (README, "Example use in
// inference decoding").
constexpr double kTokens = 128;
constexpr double kBuffers = 4;
constexpr double kBlock = 128, kBlockBytes = 4;

}  // namespace

Bytes expert_buffers(const Architecture& model, const ParallelPlan& plan) {
  if (!plan.dispatches() || plan.experts.mode == DeepEpMode::kNormal) return {};
  double largest = 0;  // the layers share the buffers
  for (const LayerSpec& layer : model.layers.specs()) {
    const auto* m = std::get_if<MoeMlp>(&layer.mlp);
    if (m == nullptr) continue;
    const double row = m->latent > 0 ? m->latent : model.hidden;
    const double message = row * 2 + row / kBlock * kBlockBytes;
    largest = std::max(largest, (m->experts + plan.experts.redundant) * message);
  }
  return Bytes(kBuffers * kTokens * largest);
}

}  // namespace orrery
