// What a rank of a training job keeps from step to step, and the buffers of its communication:
// training_memory.h says how much of each.
#pragma once

#include <vector>

#include "orrery/base/units.h"
#include "orrery/memory/training_constants.h"
#include "orrery/model/architecture.h"
#include "orrery/workload/plan/training_job.h"

namespace orrery {

struct TrainingState {
  Bytes weights, gradients, optimizer;
  Bytes buckets;      // while passes run
  Bytes step_copies;  // while the optimizer steps: fp32 copies of narrower gradients
};

// Of the virtual stages `chunks`. REQUIRES that check_job accepts.
TrainingState training_state(const Architecture& model, const TrainingJob& job,
                             const TrainingMemoryConstants& stack, const std::vector<int>& chunks);

// Bytes that the optimizer keeps of a trained parameter, master weight included, unsharded.
// `product`: a matrix of a layer.
Bytes optimizer_bytes(const Architecture& model, const TrainingJob& job,
                      const TrainingMemoryConstants& stack, bool product);

}  // namespace orrery
