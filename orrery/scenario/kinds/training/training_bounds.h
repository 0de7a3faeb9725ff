// The bounds (answer/bound_rows.h) of a training job.
#pragma once

#include "orrery/hardware/gpu.h"
#include "orrery/model/architecture/architecture.h"
#include "orrery/scenario/answer/answer.h"
#include "orrery/workload/plan/training_job.h"

namespace orrery {

// Appends them to Point::bounds. `p` has the metrics and memory of the answer.
void bound_training(const Architecture& model, const Gpu& gpu, const TrainingJob& job,
                    double tokens_to_train, Point& p);

}  // namespace orrery
