// Softmax attention that chooses blocks of keys.
#pragma once

#include "orrery/model/layers/softmax_attention.h"
#include "orrery/workload/inference/rank_step.h"

namespace orrery {

// REQUIRES attention.blocks.
void add_block_attention(OpList& ops, const RankStep& step, const SoftmaxAttention& attention);

}  // namespace orrery
