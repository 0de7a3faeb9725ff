// The ops of the channel mixers, from the normalised input to the partial sums before the
// tensor-parallel all-reduce, with the exchange of tokens between expert groups.
#pragma once

#include "orrery/model/architecture/architecture.h"
#include "orrery/workload/inference/rank_step.h"

namespace orrery {

void add_mlp(OpList& ops, const RankStep& step, const Mlp& mlp);

}  // namespace orrery
