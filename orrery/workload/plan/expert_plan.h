// Wide expert parallelism: how tokens travel to the experts of other ranks, and which copies of
// experts the ranks hold.
//
// Transport. Collectives are what engines run by default: an all-to-all of a copy for each expert
// (orrery/workload/inference/program.h). DeepEP's kernels are what they run where expert groups
// span nodes (SGLang's --moe-a2a-backend, vLLM's --all2all-backend). Its normal kernels send one
// copy of a token to each node and hand it on over the scale-up fabric; the experts then compute
// tokens that lie one expert after the other (contiguous layout). Its low-latency kernels send one
// message for each expert of a token; the experts compute slots of a fixed size that are partly
// filled (masked layout), so that the step can be a CUDA graph.
//
// Balance. A load balancer (EPLB) counts the tokens of every expert, copies the busiest experts
// `redundant` times, and places the copies so that ranks have equal loads. Copies share the tokens
// of their expert evenly (eplb_imbalance of orrery/workload/ops/products.h). The statistics are
// taken to be those of the served tokens.
//
// Overlap. A batch is computed as two halves. While one half is on the wires, the GPU computes the
// other half (orrery/step/step_model.h).
#pragma once

#include <compare>

namespace orrery {

enum class ExpertTransport {
  kAuto,         // DeepEP in expert groups of more than kWideExperts ranks, else collectives
  kCollectives,  // "none" of SGLang, "allgather_reducescatter" of vLLM
  kDeepEp
};

// kAuto takes low-latency kernels in steps that only decode, and normal kernels in all others.
enum class DeepEpMode { kAuto, kNormal, kLowLatency };

// Ranks of an expert group that fits a usual node of 8 GPUs. Guides of vLLM and SGLang recommend
// DeepEP for groups across nodes (docs.vllm.ai, "Expert Parallel Deployment").
inline constexpr int kWideExperts = 8;

struct ExpertPlan {
  ExpertTransport transport = ExpertTransport::kAuto;
  DeepEpMode mode = DeepEpMode::kAuto;
  int redundant = 0;       // copies of experts of a layer in addition to the experts
  bool balanced = false;   // EPLB places the experts; implied by redundant > 0
  bool two_batch = false;  // two-batch overlap
  bool eplb() const { return balanced || redundant > 0; }
  friend auto operator<=>(const ExpertPlan&, const ExpertPlan&) = default;
};

}  // namespace orrery
