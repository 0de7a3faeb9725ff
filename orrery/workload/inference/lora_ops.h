// Low-rank adapters (LoRA, Hu et al. 2021, arXiv:2106.09685) beside the projections of a layer, as
// multi-adapter engines run them (Punica, arXiv:2310.18547; S-LoRA, arXiv:2311.03285; vLLM): for
// each product two more kernels over all tokens of the step, whichever adapter each uses. Shrink
// multiplies by the adapters' A [in, rank] into fp32, expand by their B [rank, out] and adds to the
// product's result.
//
// Both move far more than they compute (2 * tokens * rank * (in + out) FLOPs), so they are
// elementwise ops here and have no FLOPs of their own. Bytes: activations, and the matrices of
// every adapter in the step once.
//
// Adapted are the projections of softmax attention and of dense MLPs; experts keep their weights.
// Under tensor parallelism a column-parallel product has A whole and B divided, a row-parallel one
// A divided and B whole (vLLM without fully sharded adapters).
#pragma once

#include "orrery/model/architecture.h"
#include "orrery/workload/inference/rank_step.h"

namespace orrery {

// The ops of one layer; none without adapters in the batch. NoData: a mixer that is not softmax
// attention.
void add_lora(OpList& ops, const RankStep& step, const LayerSpec& layer);

// An adapter on one GPU: bytes at the activations' format, and tensors (a copy each to
// load it). NoData as above.
struct AdapterSize {
  Bytes bytes;
  std::int64_t tensors = 0;
};
AdapterSize adapter_size(const Architecture& model, const ParallelPlan& plan,
                         const Precision& precision, const LoraShape& shape);

}  // namespace orrery
