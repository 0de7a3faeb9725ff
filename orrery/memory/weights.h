// Bytes of the weights that one rank of one pipeline stage holds.
//
// Matrices are stored in the formats of Precision, scales included; norms, biases, routers,
// convolutions and the embedding stay at the precision of the activations. Divided as vLLM does:
//   heads, MLP columns and rows, shared experts   by tp; key-value heads are copied when there are
//   fewer than tp routed experts                                by ep, each expert's columns by
//   tp*dp/ep embedding and LM head                         rows, padded to whole 64, by tp latent
//   down-projections, indexer, norms, routers   copied on every rank
// The first stage holds the embedding, the last one final norm and LM head; a tied embedding is
// held once by a stage that is both. Multi-token prediction layers are not loaded.
#pragma once

#include "orrery/base/units.h"
#include "orrery/model/architecture.h"
#include "orrery/workload/plan/plan.h"

namespace orrery {

// REQUIRES that check_plan accepts the plan, 0 <= stage < plan.pp.
Bytes stage_weights(const Architecture& model, const ParallelPlan& plan, const Precision& precision,
                    int stage);

}  // namespace orrery
