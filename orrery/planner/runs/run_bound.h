// The least time that an iteration of a run takes on a number of GPUs, whatever the layout: no
// constant brings an op above the arithmetic peak of the data sheet, and the forward and backward
// passes execute at least the FLOPs that MFU counts.
//
//   iteration >= FLOPs of a token * tokens / (GPUs * peak)
#pragma once

#include "orrery/base/units.h"
#include "orrery/hardware/gpu.h"
#include "orrery/model/architecture/architecture.h"
#include "orrery/workload/plan/training_job.h"

namespace orrery {

// `job`: any layout of the run; its sizes are not read, but for the formats and the batch.
Seconds least_iteration(const Architecture& model, const Gpu& gpu, const TrainingJob& job,
                        std::int64_t gpus);

}  // namespace orrery
