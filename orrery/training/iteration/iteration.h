// How long one iteration takes: the parts of iteration_parts.h under a stack's constants.
//
// A micro-batch on a virtual stage takes
//   F = sum of constant * forward seconds           B = the same of recomputed and backward ones,
// no op above the data sheet's peak; each at least `launch` for every kernel it launches. Sharded
// weights (ZeRO 3) are gathered, and gradients scattered, beside it, layer by layer
// (data_overlap.h).
// Exchanges of experts that run beside another micro-batch are hidden by the schedule's pairs
// (schedule.h), tensor-parallel communication beside products piece by piece (stream_overlap.h),
// context-parallel hops beside blocks of attention (context_overlap.h), saved tensors on their way
// to the host beside layers (offload_overlap.h).
// A pipeline of p stages with v chunks each takes, by the closed form that unequal stages allow,
//   m max_s(T_s) + idle * (sum_s T_s - max_s T_s) / ((p - 1) max_s T_s) + sends
// T_s = a stage's F + B over its chunks; `idle` = what the schedule's closed form adds for stages
// that are all as slow as the slowest (schedule.h): (p-1) T / v of 1F1B and interleaving, exactly,
// for equal ones. Around it: gradients reduced beside the last backward passes, and updated weights
// gathered beside the first forward passes, bucket by bucket on the first stage, which ends last
// and starts first (data_overlap.h), but for a share that blocks; the optimizer, and the host. An
// optimizer on the host gets the gradients beside the last backward pass too, and sends weights
// back beside its own step (stream_overlap.h).
//
// Gradients and weights beside passes that send between nodes themselves share the rank's port with
// them, and the last gradients of a stage with its last send (shared_port.h).
//
// That is the fast path: 10 to 50 us. The event level (pipeline.h) runs every pass of every
// micro-batch instead.
#pragma once

#include "orrery/training/iteration/chunk_time.h"
#include "orrery/training/iteration/constants.h"
#include "orrery/training/iteration/iteration_parts.h"
#include "orrery/training/schedules/schedule.h"

namespace orrery {

// The step of an optimizer on the host, weights going back beside it. 0: it is on the GPU.
Seconds host_step(const StageParts& stage, bool events = false);

// Of the communication of gradients and updated weights: what follows its schedule, and what blocks
// beside it.
struct DataShares {
  double scheduled = 1, blocking = 0;
};
DataShares data_shares(const TrainingConstants& k, const TrainingPlan& plan);

// Whether a virtual stage's gradients and updated weights travel in buckets beside its passes: the
// first's, whose gradients come last; the others' passes are followed by other stages' (Megatron
// has no buckets there). Where stages do not wait for each other, all.
bool in_buckets(const PipelineSchedule& schedule, int virtual_stage);

// The iteration by what it is spent on: of the slowest stage. Adds up to `total`.
struct IterationTime {
  Seconds total;
  std::array<Seconds, kTrainingCosts> work{};  // computation, and communication that blocks it
  Seconds launches;   // waiting for the host: kernels launched, tensors offloaded
  Seconds sharding;   // exposed gathering of weights and scattering of gradients (ZeRO 3)
  Seconds bubble;     // the pipeline's idle time
  Seconds sends;      // exposed, between stages
  Seconds reduce;     // exposed, of gradients
  Seconds gather;     // exposed, of updated weights
  Seconds optimizer;  // and what of its way to the host and back is exposed
  Seconds host;
  double forward = 0;  // share of the slowest stage's passes that forward ones are
};
// Every part and the total, `factor` times.
IterationTime scaled(IterationTime time, double factor);
IterationTime iteration_time(const IterationParts& parts, const TrainingConstants& k,
                             const TrainingJob& job);

// The forward passes of a global batch alone, with the host: an iteration of evaluation.
Seconds forward_time(const IterationTime& time);

// Of routed experts and their exchange, in [0, 1].
double experts_share(const IterationTime& time);

// What an iteration is longer by, relatively, where all communication takes one deviation of its
// error longer. What blocks counts by its share; of weights, gradients and sends, which run beside
// computation, the iteration is reckoned again.
double network_error(const IterationParts& parts, const IterationTime& time,
                     const TrainingConstants& k, const TrainingJob& job);

// The same with its uncertainty: the kernels', the network's, and the constants' error, which is
// what a fit leaves beside the network's.
Estimate<Seconds> iteration_estimate(const IterationParts& parts, const IterationTime& time,
                                     const TrainingConstants& k, const TrainingJob& job);

}  // namespace orrery
