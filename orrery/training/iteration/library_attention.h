// The time of attention by the library that a training stack calls (attention_backend.h).
#pragma once

#include "orrery/kernel/tiers/kernel_model.h"
#include "orrery/workload/ops/op.h"
#include "orrery/workload/plan/attention_backend.h"

namespace orrery {

// Turns `time`, which the kernel room predicts for `op`, into the library's. Other ops than softmax
// and latent attention and its gradient stay. No time falls below the data sheet's, and the error
// of the library's ratios joins the shared error.
void attend_by(const AttentionKernels& library, const Op& op, KernelTime& time);

}  // namespace orrery
