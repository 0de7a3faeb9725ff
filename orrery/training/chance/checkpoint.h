// A job that fails now and then, and starts again from its last checkpoint.
//
// Failures come at a constant rate (exponential times in between), also while a checkpoint is
// written and while the job restarts. Work goes in segments of `interval`, each followed by the
// write of a checkpoint; the last one is shorter. A failure loses what was done since the last
// checkpoint and costs a restart. Then exactly (renewal; J. T. Daly, "A higher order estimate of
// the optimum checkpoint interval for restart dumps", 2006, his complete model), with rate r:
//   time of a segment of s = work + write:  e^(r restart) (e^(r s) - 1) / r
//
// An asynchronous checkpoint is one whose `write` is what it holds up, and its interval the longer.
#pragma once

#include "orrery/base/random.h"
#include "orrery/base/units.h"

namespace orrery {

struct CheckpointPlan {
  Hertz failures;    // of the whole job; 0: none
  Seconds write;     // what a checkpoint takes from the job
  Seconds restart;   // from a failure to the first step: detection, replacement, loading
  Seconds interval;  // of work between checkpoints, > 0; infinite: one at the end
};

// Unexpected interruptions of a GPU a day.
//   Llama 3 405B (Meta 2024, section 3.3.4): 419 on 16,384 H100 in 54 days, one in 3.1 hours
//   Kokolis et al. 2024 ("Revisiting reliability", two clusters of A100, 8 a node): 6.5 and 2.34 in
//   1,000 node-days
inline constexpr double kLlama3FailuresPerGpuDay = 419.0 / (16384 * 54.0);
inline constexpr double kRsc1FailuresPerGpuDay = 6.50 / (1000 * 8.0);
inline constexpr double kRsc2FailuresPerGpuDay = 2.34 / (1000 * 8.0);

Hertz failure_rate(double per_gpu_day, double gpus);

// The interval that makes the job shortest. REQUIRES failures > 0, write > 0.
//   Young 1974      sqrt(2 write / r)
//   Daly 2006       the next terms of the series; 1/r where write >= 2/r
//   optimal         the minimum of the exact time: (1 - r t) e^(r t) = e^(-r write)
Seconds young_interval(Seconds write, Hertz failures);
Seconds daly_interval(Seconds write, Hertz failures);
Seconds optimal_interval(Seconds write, Hertz failures);

// Expected; total is the sum of work and the three.
struct FailingRun {
  Seconds total, work;
  Seconds checkpoints, rework, restarts;
  double failures = 0;

  double goodput() const { return total > Seconds(0) ? work / total : 1; }
};
// REQUIRES numbers that are not negative. Infeasible if less than 1 % of the
// time were work.
FailingRun expected_run(Seconds work, const CheckpointPlan& plan);

// One random run, failure by failure: about 30 ns each.
Seconds random_run(Seconds work, const CheckpointPlan& plan, RandomStream& random);

}  // namespace orrery
