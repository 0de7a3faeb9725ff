// What chance makes of a job: the distribution of an iteration and of the time to train.
//
//   iteration  its nominal time * the slowest rank's factor (stragglers.h) * degraded links +
//   stalls run        all iterations, with checkpoints and failures (checkpoint.h)
//
// Monte Carlo with common random numbers: draw number k of two questions uses the same numbers, so
// that their difference is not noise; each draw is a function of (seed, k) alone, on any number of
// threads. A run is not simulated step by step: the sum of its iterations is normal around the mean
// that the drawn GPUs give it. About 20 us a draw, plus 30 ns a failure.
#pragma once

#include <cstdint>

#include "orrery/base/units.h"
#include "orrery/training/chance/checkpoint.h"
#include "orrery/training/chance/stragglers.h"

namespace orrery {

struct ChanceQuestion {
  Seconds iteration;  // nominal: every rank a median one, nothing fails
  double iterations = 1;
  std::int64_t gpus = 1;

  Variability variability;

  double failures_per_gpu_day = 0;  // e.g. kLlama3FailuresPerGpuDay
  Seconds checkpoint_write, restart;
  Seconds checkpoint_interval;  // 0: the optimal one, but at least an iteration

  // Links degrade one by one and are repaired after `link_repair` on average; while any is
  // degraded, iterations take `degraded_slowdown` times as long. The share of that time is
  // 1 - exp(-gpus * rate * repair) (M/G/infinity).
  double degraded_links_per_gpu_day = 0;
  Seconds link_repair;
  double degraded_slowdown = 1;  // >= 1

  double stalls_per_iteration = 0;  // chance that the loader is late, 0 .. 1
  Seconds stall;                    // for so long, exponential

  std::uint64_t seed = 1;
  int draws = 1000;
};

struct SampleSummary {
  Seconds mean, p5, p50, p95;
};

struct ChanceResult {
  SampleSummary iteration;
  SampleSummary total;          // time to train
  double slowest_rank = 1;      // mean factor of the iteration
  double degraded_share = 0;    // of the time
  Seconds checkpoint_interval;  // the work of a mean run, if it is as long or nothing fails
  FailingRun expected;          // of a run whose iterations take their mean time
};

// InputError for what is not a finite number in its range. Infeasible where failures leave no time.
ChanceResult training_chance(const ChanceQuestion& question);

}  // namespace orrery
