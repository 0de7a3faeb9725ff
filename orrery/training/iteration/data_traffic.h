// The communication of weights and gradients between the data-parallel ranks of a job.
//
//   ZeRO 0      all-reduce of gradients
//   ZeRO 1, 2   reduce-scatter of gradients, then all-gather of updated weights, both in buckets,
//               or broadcasts of updated weights (StackTraits::broadcasts). Where shards are whole
//               tensors (StackTraits::whole_shards), an all-reduce and an all-gather of everything
//               after the passes. Under ZeRO 2 every micro-batch scatters its gradients.
//   ZeRO 3      every micro-batch gathers the weights before its forward and before its backward
//               pass, and scatters its gradients, in one collective for each layer
//
// Ranks that hold copies of a shard (hybrid sharding) reduce their gradients once an iteration.
// Routed experts have groups of their own, and travel before the dense weights.
#pragma once

#include "orrery/training/iteration/data_transfers.h"
#include "orrery/training/iteration/iteration_parts.h"
#include "orrery/workload/training/training_parameters.h"

namespace orrery {

// Fills what a micro-batch gathers and scatters in virtual stage `chunk`: ChunkParts::gather,
// gather_again, scatter, their collectives and their time on the port. `transfers` is empty and
// repeats with the micro-batches.
void add_micro_batch_traffic(const Architecture& model, const TrainingJob& job, int chunk,
                             DataTransfers& transfers, ChunkParts& out);

// Parameters and layers of a pipeline stage on one rank.
struct StageSize {
  ChunkParameters parameters;
  int layers = 0;
};

// Fills what a pipeline stage reduces and gathers once an iteration: StageParts::reduce to
// late_updates. `transfers` is empty.
void add_iteration_traffic(const TrainingJob& job, const StackTraits& stack, const StageSize& size,
                           DataTransfers& transfers, StageParts& out);

}  // namespace orrery
