// The part of a training answer that is about memory: of the device, and of the host.
//
// Metrics: memory, memory_reserved, memory_allocated, activations, fits (a probability);
// host_memory where tensors lie on the host; max_micro_batch where it is asked for.
#pragma once

#include "orrery/memory/training_memory.h"
#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/kinds/training/training_system.h"

namespace orrery {

// Adds the metrics, Point::memory and the feasibility, for the rank that the question names or the
// fullest one. A question for the largest micro-batch sets those of `job` and of `point.at` to it.
TrainingMemory add_memory(const TrainingSystem& system, TrainingJob& job, Point& point);

}  // namespace orrery
