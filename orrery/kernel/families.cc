// The registry of kernel families, and the physics they share.
#include "orrery/kernel/families.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

namespace orrery {

std::span<const KernelFamily* const> kernel_families() {
  // The first that accepts an op serves it: narrower families come before wider ones. Those
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

double clocks_per_second(const Gpu& gpu) {
  const std::optional<Hertz>& clock = gpu.peak_clock ? gpu.peak_clock : gpu.boost_clock;
  return clock ? gpu.compute_units * clock->value() : 0;
}

bool KernelFamily::warm_differs(const Op& op, const Gpu& gpu) const {
  return gpu.l2 && bytes(op) <= *gpu.l2 * kBeyondCache;
}

double exponentials_per_second(const Gpu& gpu) {
  return gpu.sm_version == 0 ? 0 : (gpu.sm_version == 103 ? 32 : 16) * clocks_per_second(gpu);
}

FlopsPerSecond sustained_fp32(const Gpu& gpu) {
  constexpr double kShare = 0.8, kWideUnit = 0.8, kWideLanes = 96;
  FlopsPerSecond rate(std::numeric_limits<double>::infinity());
  const std::string& a = gpu.architecture;
  const double picojoules = a == "pascal"                   ? 22
                            : a == "volta" || a == "turing" ? 14
                            : a == "ampere"                 ? 12
                            : a == "cdna1" || a == "cdna2"  ? 7
                                                            : 6;
  if (gpu.power) rate = FlopsPerSecond(kShare * gpu.power->value() / (picojoules * 1e-12));
  const std::optional<Hertz>& clock = gpu.boost_clock ? gpu.boost_clock : gpu.peak_clock;
  if (gpu.vendor == "nvidia" && clock && gpu.supports(Dtype::kFp32)) {
    const FlopsPerSecond peak = gpu.peak(Dtype::kFp32);
    const double lanes = peak.value() / (2 * clock->value() * gpu.compute_units);
    if (lanes > kWideLanes) rate = std::min(rate, peak * kWideUnit);
  }
  return rate;
}

}  // namespace orrery
