// The registry of kernel families, and the physics they share.
#include "orrery/kernel/families/families.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

namespace orrery {

std::span<const KernelFamily* const> kernel_families() {
  // The first that serves a kind of call is asked: narrower families come before wider ones. Those
  // whose framework is not chosen are passed over (KernelClasses::rows).
  static const std::array<const KernelFamily*, 19> kAll = {&batched_gemm_family(),
                                                           &row_kernel_family(),
                                                           &quantise_family(),
                                                           &encoder_attention_family(),
                                                           &wide_ep_family(),
                                                           &absorbed_product_family(),
                                                           &gemm_family(),
                                                           &prefill_attention_family(),
                                                           &decode_attention_family(),
                                                           &latent_core_family(),
                                                           &latent_module_family(),
                                                           &moe_family(),
                                                           &state_space_family(),
                                                           &linear_attention_family(),
                                                           &causal_convolution_family(),
                                                           &sparse_attention_family(),
                                                           &elementwise_family(),
                                                           &gemm_gradient_family(),
                                                           &attention_backward_family()};
  return kAll;
}

std::vector<double> log2_of(std::span<const int> sizes) {
  std::vector<double> out;
  for (int s : sizes) out.push_back(std::log2(s));
  return out;
}

KernelKind kind_of(const Op& op) {
  using enum KernelKind;
  static constexpr std::array<KernelKind, std::variant_size_v<Op>> kPlain = {
      kProduct,           kCausalAttention, kDecodeAttention, kLatentAttention, kLatentModule,
      kExperts,           kLinearAttention, kElementwise,     kEmbedding,       kCollective,
      kAttentionBackward, kOptimizerStep,   kConvolution,     kSparseAttention};
  if (const auto* g = std::get_if<Gemm>(&op)) {
    if (g->batch == 1) return g->gradient ? kProductGradient : kProduct;
    const bool fp32 = g->format == Format::kFp32 || g->format == Format::kTf32;
    return fp32 ? kBatchedFp32Product : kBatchedProduct;
  }
  if (const auto* a = std::get_if<PrefillAttention>(&op); a && !a->causal) return kEncoderAttention;
  if (const auto* e = std::get_if<Elementwise>(&op); e && e->kind == Elementwise::Kind::kQuantise)
    return kQuantisation;
  if (const auto* m = std::get_if<MoeExperts>(&op);
      m && m->dispatched != MoeExperts::Dispatched::kNo)
    return kDispatchedExperts;
  if (const auto* a = std::get_if<LinearAttentionCore>(&op);
      a && a->kind == LinearAttentionCore::Kind::kMamba2)
    return kStateSpace;
  return kPlain[op.index()];
}

bool KernelFamily::warm_differs(const Op& op, const KernelGpu& gpu) const {
  return gpu.l2 && bytes(op) <= *gpu.l2 * kBeyondCache;
}

}  // namespace orrery
