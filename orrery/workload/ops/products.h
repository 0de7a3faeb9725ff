// Ops that are matrix products: dense and batched products, and the routed experts of a MoE layer.
//
// Every op struct of this folder has the members that op.h lists (name, error family, FLOPs, bytes,
// arithmetic, description).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "orrery/base/dtype.h"
#include "orrery/base/estimate.h"
#include "orrery/base/units.h"
#include "orrery/workload/ops/format.h"

namespace orrery {

// `batch` products [m, k] x [k, n] with different operands. Reads both operands and writes results
// of 16 bits (32 bits in fp32 and tf32). FLOPs: 2 * batch * m * n * k.
struct Gemm {
  static constexpr std::string_view kName = "gemm";
  static constexpr Family kFamily = Family::kGemm;
  // Products that are served by different kernels.
  enum class Kernel { kProduct, kGradient, kBatched, kBatchedFp32 };
  static constexpr std::size_t kKernels = 4;

  std::int64_t m = 1, n = 1, k = 1;
  std::int64_t batch = 1;
  Format format = Format::kBf16;
  // True if the second operand is a weight, read from memory at the format's size; false if it is
  // an activation.
  bool weight = true;
  // True for a product of a backward pass. Its operands have other layouts than those of the
  // measured products, so the kernel room widens its error.
  bool gradient = false;

  Kernel kernel() const {
    if (batch == 1) return gradient ? Kernel::kGradient : Kernel::kProduct;
    const bool fp32 = format == Format::kFp32 || format == Format::kTf32;
    return fp32 ? Kernel::kBatchedFp32 : Kernel::kBatched;
  }
  bool operator==(const Gemm&) const = default;
  Flops flop_count() const;
  Bytes byte_count() const;
  Dtype arithmetic() const;
  std::string description() const;
};

// The two products of the gradients of a product [m, k] x [k, n]: that of the first operand,
// [m, n] x [n, k], and that of the second, [k, m] x [m, n].
struct GemmGradients {
  Gemm first, second;
};
GemmGradients gradients(const Gemm& forward);

// The routed experts of a MoE layer on the busiest rank: routing from logits, permutation, the
// products of the experts and the weighted sum. `tokens` are the tokens of all tp * ep ranks that
// share the layer.
//
// FLOPs: those of the token-expert pairs of the busiest rank, which are tokens * top_k / ep, times
// expert_imbalance for skewed loads. Reads the weights of the expected number of active experts,
// the tokens that have an expert on the rank, and the intermediate activations; writes the
// intermediate activations and the results.
struct MoeExperts {
  static constexpr std::string_view kName = "moe";
  static constexpr Family kFamily = Family::kMoe;
  enum class Kernel { kRouted, kDispatched };
  static constexpr std::size_t kKernels = 2;

  std::int64_t tokens = 1;
  int hidden = 1, intermediate = 1;  // sizes of one expert before division by tp
  int experts = 1, top_k = 1;
  int tp = 1, ep = 1;
  bool gated = true;
  double skew = 0;  // exponent of the power law of expert loads; 0: balanced loads
  Format format = Format::kBf16;
  // Wide expert parallelism: an all-to-all brought the tokens to the rank before the op, so that it
  // neither routes nor sums. Prefill and decode then have kernels of their own.
  enum class Dispatched { kNo, kPrefill, kDecode } dispatched = Dispatched::kNo;

  Kernel kernel() const {
    return dispatched == Dispatched::kNo ? Kernel::kRouted : Kernel::kDispatched;
  }
  bool operator==(const MoeExperts&) const = default;
  Flops flop_count() const;
  Bytes byte_count() const;
  Dtype arithmetic() const;
  std::string description() const;
};

// Expected number of distinct experts that `tokens` tokens activate if each draws `top_k` of
// `experts` at random, with loads by a power law of exponent `skew` (0: uniform).
double expected_active_experts(std::int64_t tokens, int experts, int top_k, double skew);
// Load of the busiest of `ep` equal groups of experts over the mean load, for the same draws.
double expert_imbalance(std::int64_t tokens, int experts, int top_k, int ep, double skew);

struct Routing {
  int experts = 1, top_k = 1;
  double skew = 0;
};
// The same with a load balancer that copies the busiest experts, `redundant` copies in all, and
// places the copies on `ep` ranks, equally many on each. Never above expert_imbalance, and never
// higher with more copies.
//
// The busiest experts are copied until no copy has more than a load t, the lowest that the copies
// reach. A rank is at least as busy as the copy of load t together with the least busy experts, and
// at least as busy as the mean; placement in order of load comes close to both bounds. The draw of
// tokens makes even equal loads differ, as in expert_imbalance.
double eplb_imbalance(std::int64_t tokens, const Routing& routing, int redundant, int ep);

}  // namespace orrery
