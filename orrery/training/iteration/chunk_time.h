// One micro-batch through one virtual stage: the parts of iteration_parts.h under a stack's
// constants, with what each pass hides of its own communication.
#pragma once

#include <array>

#include "orrery/training/iteration/constants.h"
#include "orrery/training/iteration/iteration_parts.h"
#include "orrery/training/schedules/schedule.h"

namespace orrery {

// Of communication that blocks passes.
inline constexpr std::array<TrainingCost, 3> kCollectiveCosts = {
    TrainingCost::kTensor, TrainingCost::kContext, TrainingCost::kExpertExchange};

// What a number of passes through one virtual stage cost: by kind of work, with the constants in.
struct ChunkTime {
  Seconds forward, backward_input, backward_weight;  // sharded weights' exposed time included
  Seconds forward_exposed, backward_exposed;         // of that
  Seconds forward_sharded, backward_sharded;         // their communication, hidden or not
  Seconds forward_exchange, backward_exchange;       // of experts, within the passes
  Seconds forward_experts, backward_experts;         // their computation
  Seconds launch_bound;  // of that, waiting for launches or the host link
  // What the passes' communication needs of the rank's port (shared_port.h).
  Seconds forward_on_port, backward_input_on_port, backward_weight_on_port;
  Seconds total() const { return forward + backward_input + backward_weight; }
};
// What the seconds of a cost in one pass are multiplied by: its constant, never less than
// ChunkParts::of_peak; of tensor-parallel communication that runs beside products what its schedule
// leaves exposed (stream_overlap.h), times a constant; of context-parallel communication what its
// schedule leaves exposed (context_overlap.h). `events`: of that, event by event.
double cost_factor(const IterationParts& whole, const ChunkParts& parts, const TrainingConstants& k,
                   const TrainingPlan& plan, TrainingCost cost, TrainingPass pass,
                   bool events = false);

// That times the seconds of the cost in the pass.
Seconds cost_time(const IterationParts& whole, const ChunkParts& parts, const TrainingConstants& k,
                  const TrainingPlan& plan, std::size_t cost, std::size_t pass,
                  bool events = false);

ChunkTime chunk_time(const IterationParts& whole, const ChunkParts& parts,
                     const TrainingConstants& k, const TrainingJob& job, bool events = false);
// The same where all communication of the passes that leaves a node takes twice as long on the
// port: what each pass is like beside another transfer. No pass is shorter than `alone`.
ChunkTime contended_time(const IterationParts& whole, const ChunkParts& parts,
                         const TrainingConstants& k, const TrainingJob& job, const ChunkTime& alone,
                         bool events = false);
// Whether anything that runs beside passes, or in them, may share a port with another transfer.
bool shares_ports(const IterationParts& parts);
// The same job with a port for each transfer.
IterationParts with_own_ports(IterationParts parts);

// The same as a pipeline schedule takes it: of the exchange of experts the share that pairs run
// beside computation, where sharded weights do not hide behind it; the rest blocks as any work
// does.
ScheduledChunk scheduled(const IterationParts& whole, const TrainingConstants& k,
                         const ChunkTime& time);

}  // namespace orrery
