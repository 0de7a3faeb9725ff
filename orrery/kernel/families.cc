// The registry of kernel families, and the physics they share.
#include "orrery/kernel/families.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace orrery {

std::span<const KernelFamily* const> kernel_families() {
  // The first that accepts an op serves it: products of many small matrices come before gemm.
  static const std::array<const KernelFamily*, 8> kAll = {
      &absorbed_product_family(), &gemm_family(),        &prefill_attention_family(),
      &decode_attention_family(), &latent_core_family(), &moe_family(),
      &linear_attention_family(), &elementwise_family()};
  return kAll;
}

Seconds move_time(Bytes bytes, Bytes cached, const Gpu& gpu) {
  cached = std::min(cached, bytes);
  return (bytes - cached) / gpu.memory.bandwidth + cached / (gpu.memory.bandwidth * kL2Speedup);
}

Bytes if_cached(Bytes bytes, const Gpu& gpu) {
  return gpu.l2 && bytes <= *gpu.l2 * 0.5 ? bytes : Bytes(0);
}

double wave_factor(double tiles, int units) {
  if (tiles <= 0 || units <= 0) return 1;
  return std::ceil(tiles / units) * units / tiles;
}

FlopsPerSecond rate_for(Dtype arithmetic, const Gpu& gpu) {
  return gpu.supports(arithmetic) ? gpu.peak(arithmetic) : gpu.peak(gpu.compute_dtype(arithmetic));
}

}  // namespace orrery
