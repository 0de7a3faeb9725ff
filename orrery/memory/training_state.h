// The memory that a rank of a training job keeps from step to step, and the buffers of its
// communication. The sizes are documented in training_memory.h.
#pragma once

#include <vector>

#include "orrery/base/units.h"
#include "orrery/memory/training_constants.h"
#include "orrery/model/architecture/architecture.h"
#include "orrery/workload/plan/training_job.h"

namespace orrery {

struct TrainingState {
  Bytes weights, gradients, optimizer;
  Bytes passing;  // part of `gradients`: is freed after the backward pass of a micro-batch
  Bytes buckets;  // communication buffers; they exist while passes run
  Bytes host;     // states of the optimizer that are offloaded to the host
  Bytes
      step_copies;  // copies during the optimizer step: fp32 gradients, multi-tensor Adam, gathering
};

// The state of a rank that holds the virtual stages `chunks`. REQUIRES that check_job accepts the
// job.
TrainingState training_state(const Architecture& model, const TrainingJob& job,
                             const TrainingMemoryConstants& stack, const std::vector<int>& chunks);

// Bytes of optimizer state for one trained parameter, its master weight included, before sharding.
// `product`: the parameter belongs to a matrix of a layer.
Bytes optimizer_bytes(const Architecture& model, const TrainingJob& job,
                      const TrainingMemoryConstants& stack, bool product);

}  // namespace orrery
