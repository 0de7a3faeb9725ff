// The influence of chance on a job: the distributions of the time of an iteration and of the time
// to train.
//
//   iteration  nominal time * factor of the slowest rank (stragglers.h) * degraded links + stalls
//   run        all iterations, with checkpoints and failures (checkpoint.h)
//
// The method is Monte Carlo with common random numbers: draw number k of two questions uses the
// same numbers, so that noise does not affect their difference. Each draw is a function of (seed,
// k) alone and does not depend on the number of threads. A run is not simulated step by step: the
// sum of its iterations is normal around the mean that the drawn GPUs give it. A draw takes about
// 20 us, plus 30 ns for each failure.
#pragma once

#include <cstdint>

#include "orrery/base/units.h"
#include "orrery/training/chance/checkpoint.h"
#include "orrery/training/chance/stragglers.h"

namespace orrery {

struct ChanceQuestion {
  Seconds iteration;  // nominal time: every rank is a median one, nothing fails
  double iterations = 1;
  std::int64_t gpus = 1;

  Variability variability;

  double failures_per_gpu_day = 0;    // such as kLlama3FailuresPerGpuDay
  Seconds checkpoint_write, restart;  // as in CheckpointPlan
  Seconds checkpoint_interval;  // 0: the optimal interval, but at least the time of an iteration

  // Links degrade independently and are repaired after `link_repair` on average. Iterations take
  // `degraded_slowdown` times as long while any link is degraded. The share of that time is
  // 1 - exp(-gpus * rate * repair) (a queue M/G/infinity).
  double degraded_links_per_gpu_day = 0;
  Seconds link_repair;
  double degraded_slowdown = 1;  // >= 1

  double stalls_per_iteration = 0;  // probability that the data loader is late, 0 to 1
  Seconds stall;                    // mean length of a stall, exponentially distributed

  std::uint64_t seed = 1;
  int draws = 1000;
};

struct SampleSummary {
  Seconds mean, p5, p50, p95;
};

struct ChanceResult {
  SampleSummary iteration;
  SampleSummary total;          // time to train
  double slowest_rank = 1;      // mean factor of the slowest rank on the iteration
  double degraded_share = 0;    // share of the time with a degraded link, 0 to 1
  Seconds checkpoint_interval;  // work between checkpoints; of a mean run if that is shorter
  FailingRun expected;          // expected time of a run whose iterations take their mean time
};

// Throws InputError if a number of the question is not finite or not in its range, and Infeasible
// if failures leave no time for work.
ChanceResult training_chance(const ChanceQuestion& question);

// The same without the draws, in a microsecond: `iteration` and `total` stay 0.
ChanceResult expected_chance(const ChanceQuestion& question);

}  // namespace orrery
