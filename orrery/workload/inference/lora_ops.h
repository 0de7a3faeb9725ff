// Low-rank adapters (LoRA, Hu et al. 2021, arXiv:2106.09685) of the projections of a layer, as
// multi-adapter engines run them (Punica, arXiv:2310.18547; S-LoRA, arXiv:2311.03285; vLLM).
//
// Each adapted product has two more kernels over all tokens of the step, whichever adapter a token
// uses. `shrink` multiplies by the adapters' matrices A [in, rank] into fp32. `expand` multiplies
// by their matrices B [rank, out] and adds the result to that of the product.
//
// Both kernels move far more than they compute (2 * tokens * rank * (in + out) FLOPs), so they are
// elementwise ops without FLOPs. Their bytes are the activations, and the matrices of every adapter
// in the step once.
//
// A mixer or a dense MLP declares which of its projections are adapted (LayerMatrix::adapter).
// Experts keep their weights. Under tensor parallelism a column-parallel product has A whole and B
// divided, and a row-parallel product has A divided and B whole (vLLM without fully sharded
// adapters).
#pragma once

#include "orrery/model/architecture/architecture.h"
#include "orrery/workload/inference/rank_step.h"

namespace orrery {

// Adds the adapter ops of one layer; none if the batch has no adapters. NoData: a mixer without
// adapted projections, or with some between latents.
void add_lora(OpList& ops, const RankStep& step, const LayerSpec& layer);

// The size of an adapter on one GPU: its bytes in the format of the activations, and its tensors,
// each of which is loaded by a copy of its own. NoData as for add_lora.
struct AdapterSize {
  Bytes bytes;
  std::int64_t tensors = 0;
};
AdapterSize adapter_size(const Architecture& model, const ParallelPlan& plan,
                         const Precision& precision, const LoraShape& shape);

}  // namespace orrery
