// The part of a training answer that is about memory: of the device, and of the host.
#pragma once

#include <optional>

#include "orrery/memory/training_memory.h"
#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/kinds/training/training_system.h"

namespace orrery {

// The memory of a job, by its fullest or its named rank.
struct JobMemory {
  TrainingMemory of_rank;
  // The relative error of the total. The measured rows do not tell the parts apart, so that each
  // has the same.
  double error = 0;
  double fits = 1;                              // the chance, 0 to 1
  std::optional<Estimate<Bytes>> host;          // of a node; absent: no tensors lie there
  std::optional<std::int64_t> max_micro_batch;  // where it is asked for
};

// Adds Point::memory and the feasibility, for the rank that the question names or the fullest one.
// A question for the largest micro-batch sets those of `job` and of `point.at` to it.
JobMemory add_memory(const TrainingSystem& system, TrainingJob& job, Point& point);

}  // namespace orrery
