// The passes of routed experts on one rank: tokens travel to their experts and back
// (ExpertDispatcher), the kernels of the router and the copies that lay tokens out by expert, and
// two products per expert with the activation between them.
#pragma once

#include "orrery/workload/training/pass_writer.h"

namespace orrery {

// Whether experts split etp ways, of divided tokens, gather the copies that an all-to-all brought
// over the etp ranks, and reduce and scatter the partial results (Megatron Core's
// MoEAlltoAllTokenDispatcher). The other dispatchers send to all etp ranks at once.
bool gathers_copies(const TrainingPlan& plan);

void add_routed_experts(PassWriter& w, const MoeExperts& m, const ProgramOp& op);

}  // namespace orrery
