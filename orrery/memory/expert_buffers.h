// Memory of the buffers through which DeepEP's low-latency kernels send and receive.
#pragma once

#include "orrery/base/units.h"
#include "orrery/model/architecture/architecture.h"
#include "orrery/workload/plan/plan.h"

namespace orrery {

// Bytes on one rank; 0 without DeepEP and with its normal kernels alone, whose buffers are a few
// hundred MB (the workspace of the engine's profile). Every rank can send all of its tokens to any
// one expert, so that there is a message for each of 128 tokens and each copy of an expert of the
// deployment. Two buffers send and two receive, in turn (LowLatencyLayout, DeepEP csrc/config.hpp).
// A message of the combine is a row in 16 bits and 4 bytes for each 128 elements.
Bytes expert_buffers(const Architecture& model, const ParallelPlan& plan);

}  // namespace orrery
