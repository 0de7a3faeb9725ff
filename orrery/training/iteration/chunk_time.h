// The time of one micro-batch in one virtual stage: the parts of iteration_parts.h times the
// constants of a stack (constants.h), minus the communication that each pass hides.
//
// All times are of one micro-batch on one rank.
#pragma once

#include <array>

#include "orrery/training/iteration/constants.h"
#include "orrery/training/iteration/iteration_parts.h"
#include "orrery/training/overlap/fidelity.h"
#include "orrery/training/schedules/schedule.h"

namespace orrery {

// The costs of communication that blocks a pass.
inline constexpr std::array<TrainingCost, 3> kCollectiveCosts = {
    TrainingCost::kTensor, TrainingCost::kContext, TrainingCost::kExpertExchange};

// The input of all functions below that does not depend on the chunk. Borrows everything.
struct ChunkSetting {
  const IterationParts& iteration;
  const TrainingConstants& constants;
  const TrainingJob& job;
  Fidelity fidelity = Fidelity::kClosedForm;
};

struct ChunkTime {
  // Times of the passes. They include the exposed time of sharded weights, waiting for launches,
  // and blocking communication.
  Seconds forward, backward_input, backward_weight;
  // The parts of `forward`, and of both backward passes, in which they wait for sharded weights.
  Seconds forward_exposed, backward_exposed;
  // All communication of sharded weights and their gradients, hidden or not.
  Seconds forward_sharded, backward_sharded;
  // The parts of the passes that the experts' exchange of tokens takes, and their computation.
  Seconds forward_exchange, backward_exchange;
  Seconds forward_experts, backward_experts;
  // The part of all passes in which the GPU waits for kernel launches or for the host link.
  Seconds launch_bound;
  // Time of the passes' communication on the rank's port (shared_port.h).
  Seconds forward_on_port, backward_input_on_port, backward_weight_on_port;

  Seconds total() const { return forward + backward_input + backward_weight; }
};

// Factor on the seconds of a cost in one pass: its constant, but at least ChunkParts::of_peak.
// Two kinds of communication overlap with computation. For tensor-parallel communication that runs
// next to products, and for context-parallel communication, the factor is the share that stays
// exposed (stream_overlap.h, context_overlap.h), times a constant.
double cost_factor(const ChunkSetting& setting, const ChunkParts& parts, TrainingCost cost,
                   TrainingPass pass);

// The seconds of a cost in one pass, times cost_factor.
Seconds cost_time(const ChunkSetting& setting, const ChunkParts& parts, TrainingCost cost,
                  TrainingPass pass);

ChunkTime chunk_time(const ChunkSetting& setting, const ChunkParts& parts);

// The chunk's times if all communication of its passes between nodes takes twice as long on the
// port, as it does while another transfer uses the port. No pass is shorter than in `alone`, the
// result of chunk_time for the same arguments.
ChunkTime contended_time(const ChunkSetting& setting, const ChunkParts& parts,
                         const ChunkTime& alone);

// Whether two transfers of a rank can use its port at the same time.
bool shares_ports(const IterationParts& parts);
// The same parts with a port for each transfer: no transfer delays another one.
IterationParts with_own_ports(IterationParts parts);

// The chunk's times as a pipeline schedule takes them. Pairs of passes can hide the fitted share
// TrainingConstant::kExpertOverlapped of the exchange of experts, as far as sharded weights leave
// computation to hide it; the rest of the exchange is a blocking part of its pass.
ScheduledChunk scheduled(const ChunkSetting& setting, const ChunkTime& time);

}  // namespace orrery
