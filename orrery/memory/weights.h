// Bytes of the weights on one rank of a pipeline stage.
//
// Matrices are stored in the formats of Precision, scales included. Norms, biases, routers,
// convolutions and the embedding have the precision of the activations. Weights are divided among
// ranks as in vLLM:
//
//   heads, columns and rows of MLPs, shared experts   by tp; key-value heads are copied if tp
//                                                     exceeds their number
//   routed experts                                    by ep; the columns of each expert by tp*dp/ep
//   embedding and LM head                             rows, padded to a multiple of 64, by tp
//   latent down-projections, indexer, norms, routers  copied on every rank
//
// The first stage has the embedding, the last one the final norm and the LM head. A tied embedding
// counts once on a stage that is both. Multi-token prediction layers are not loaded.
#pragma once

#include "orrery/base/units.h"
#include "orrery/model/architecture/architecture.h"
#include "orrery/workload/plan/plan.h"

namespace orrery {

// REQUIRES that check_plan accepts the plan, 0 <= stage < plan.pp.
Bytes stage_weights(const Architecture& model, const ParallelPlan& plan, const Precision& precision,
                    int stage);

}  // namespace orrery
