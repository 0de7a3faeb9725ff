// The passes of the cores of attention. A core whose scores are not kept (FlashAttention) has one
// backward op. Else scores lie in memory, and softmax, dropout and two batched products move them.
#pragma once

#include "orrery/workload/training/pass_writer.h"

namespace orrery {

void add_attention(PassWriter& w, const PrefillAttention& a, const ProgramOp& op);

// The core of multi-head latent attention, whose gradient is that of plain attention with as many
// heads of keys.
void add_latent_attention(PassWriter& w, const LatentAttentionCore& l, const ProgramOp& op);

}  // namespace orrery
