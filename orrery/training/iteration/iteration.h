// The time of one training iteration in closed form: the parts of iteration_parts.h times the
// constants of a stack (constants.h). It takes 10 to 50 us. The event level (iteration_events.h)
// runs every pass of every micro-batch instead.
//
// A micro-batch on a virtual stage takes (chunk_time.h)
//
//   F = sum of constant * forward seconds
//   B = sum of constant * seconds of recomputation and both backward passes
//
// No op is faster than the data sheet's peak, and each pass takes at least `launch` for every
// kernel that it launches. The following communication overlaps with computation, so that only a
// part of it is exposed:
//
//   gathering of sharded weights and scattering of gradients (ZeRO 3)    data_overlap.h
//   exchange of experts, in pairs of micro-batches                       schedule.h
//   tensor-parallel communication, piece by piece                        stream_overlap.h
//   context-parallel hops                                                context_overlap.h
//   saved tensors on their way to the host                               offload_overlap.h
//
// With m micro-batches, a pipeline of p stages with v chunks each takes
//
//   m max_s(T_s) + idle * (sum_s T_s - max_s T_s) / ((p - 1) max_s T_s) + sends
//
// T_s is the F + B of stage s, summed over its chunks. `idle` is the idle time of the schedule's
// closed form (schedule.h) if all stages were as slow as the slowest: (p-1) T / v for 1F1B and
// interleaving. The formula is exact for equal stages.
//
// Once an iteration follow the reduction of gradients during and after the last backward passes,
// the gathering of updated weights before and during the first forward passes (bucket by bucket on
// the first stage, which ends last and starts first; data_overlap.h), the optimizer, and the host.
// A fitted share of reductions and gathers is always exposed. An optimizer on the host receives the
// gradients during the last backward pass, and sends weights back during its own step
// (stream_overlap.h).
//
// All ranks wait for the one whose computation takes longest (slowest_rank.h).
//
// Gradients and weights share the rank's port with passes that send between nodes, and the last
// gradients of a stage with its last send (shared_port.h).
#pragma once

#include <vector>

#include "orrery/training/iteration/chunk_time.h"
#include "orrery/training/iteration/constants.h"
#include "orrery/training/iteration/iteration_parts.h"
#include "orrery/training/schedules/schedule.h"

namespace orrery {

// Time of an optimizer step on the host, during which weights go back. 0: it runs on the GPU.
Seconds host_step(const StageParts& stage, Fidelity fidelity);

// Time after the optimizer in which weights are gathered that no computation hides. The host makes
// a view of the part of each tensor that each rank has, which takes as long as a launch. Then
// follows the gather, or the host's launches of the copies of weights into place if those take
// longer.
Seconds late_gather_time(const StageParts& stage, const TrainingConstants& k);

// Shares of the communication of gradients and updated weights.
struct DataShares {
  double scheduled = 1;  // overlaps with passes, as data_overlap.h describes
  double blocking = 0;   // is exposed in any case
};
DataShares data_shares(const TrainingConstants& k, const TrainingPlan& plan);

// Whether the gradients and updated weights of a virtual stage travel in buckets that overlap with
// its passes. Only the first virtual stage does, because its gradients come last; after the passes
// of the others, other stages still compute (Megatron has no buckets there). In schedules whose
// stages do not wait for each other, all virtual stages do.
bool in_buckets(const PipelineSchedule& schedule, int virtual_stage);

// The iteration on the slowest stage, by what the time is spent on. The parts add up to `total`.
struct IterationTime {
  Seconds total;
  std::array<Seconds, kTrainingCosts> work{};  // computation, and communication that blocks it
  Seconds launches;    // waiting for the host: kernel launches, copies of saved tensors
  Seconds sharding;    // exposed gathering of weights and scattering of gradients (ZeRO 3)
  Seconds bubble;      // idle time of the pipeline
  Seconds sends;       // exposed sends between stages
  Seconds reduce;      // exposed reduction of gradients
  Seconds gather;      // exposed gathering of updated weights
  Seconds optimizer;   // the optimizer step, and exposed copies to and from the host
  Seconds host;        // the GPU waits for the data loader, logging and checks
  Seconds stragglers;  // the median rank waits for the slowest one (slowest_rank.h)
  double forward = 0;  // share of forward passes in the passes of the slowest stage, 0 to 1
};
// The same with every part and the total multiplied by `factor`.
IterationTime scaled(IterationTime time, double factor);
IterationTime iteration_time(const IterationParts& parts, const TrainingConstants& k,
                             const TrainingJob& job);

// The virtual stages of the pipeline stage with the most work, whose time IterationTime states.
std::vector<int> slowest_chunks(const IterationParts& parts, const TrainingConstants& k,
                                const TrainingJob& job);

// Time of the forward passes of a global batch, and of the host: an iteration of evaluation.
Seconds forward_time(const IterationTime& time);

// FLOPs that a GPU executes in an iteration of the job.
Flops executed_flops(const IterationParts& parts, const TrainingJob& job);

// Share of the iteration that routed experts and their exchange take, 0 to 1.
double experts_share(const IterationTime& time);

// Relative increase of the iteration's time if all communication takes one standard deviation of
// its error longer. Communication that blocks counts by its share of the iteration. For weights,
// gradients and sends, which overlap with computation, the iteration is computed again.
double network_error(const IterationParts& parts, const IterationTime& time,
                     const TrainingConstants& k, const TrainingJob& job);

// Relative error of the iteration's time that comes from its wait for the slowest rank.
double straggler_error(const IterationTime& time);

// The iteration's time with its uncertainty: errors of the kernels, of the network and of the wait
// for the slowest rank, and the error that the fit of the constants leaves.
Estimate<Seconds> iteration_estimate(const IterationParts& parts, const IterationTime& time,
                                     const TrainingConstants& k, const TrainingJob& job);

}  // namespace orrery
