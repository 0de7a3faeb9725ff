// Bytes of the weights on one rank of a pipeline stage.
//
// The layers declare their weights and how ranks divide them (model/layers). Matrices are stored in
// the formats of Precision, scales included. Norms, biases, routers, convolutions and the embedding
// have the precision of the activations. Routed experts are shared among ep groups, and the widths
// of each divided by tp*dp/ep. The rows of the embedding and the LM head are padded to a multiple
// of 64.
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
