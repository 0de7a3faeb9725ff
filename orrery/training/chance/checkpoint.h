// A job that fails at random times and restarts from its last checkpoint.
//
// Failures come at a constant rate (exponential times between them), also while a checkpoint is
// written and while the job restarts. Work is divided into segments of length `interval`, each
// followed by the write of a checkpoint; the last segment is shorter. A failure loses the work
// since the last checkpoint and costs a restart. The expected time of a segment is then exact
// (renewal theory; the complete model of J. T. Daly, "A higher order estimate of the optimum
// checkpoint interval for restart dumps", 2006). With failure rate r and s = work + write:
//
//   time of a segment   e^(r restart) (e^(r s) - 1) / r
//
// For an asynchronous checkpoint, `write` is the time by which it delays the job, and the interval
// is longer.
#pragma once

#include "orrery/base/random.h"
#include "orrery/base/units.h"

namespace orrery {

struct CheckpointPlan {
  Hertz failures;    // rate of failures of the whole job; 0: none
  Seconds write;     // time that a checkpoint takes from the job
  Seconds restart;   // from a failure to the first step: detection, replacement, loading
  Seconds interval;  // work between checkpoints, > 0; infinite: one checkpoint, at the end
};

// Unexpected interruptions for each GPU and day.
//   Llama 3 405B (Meta 2024, "The Llama 3 Herd of Models", section 3.3.4): 419 interruptions on
//   16,384 H100 in 54 days, one in 3.1 hours.
//   Kokolis et al. 2024 ("Revisiting Reliability in Large-Scale Machine Learning Research
//   Clusters", two clusters of A100 with 8 GPUs a node): 6.5 and 2.34 in 1,000 node-days.
inline constexpr double kLlama3FailuresPerGpuDay = 419.0 / (16384 * 54.0);
inline constexpr double kRsc1FailuresPerGpuDay = 6.50 / (1000 * 8.0);
inline constexpr double kRsc2FailuresPerGpuDay = 2.34 / (1000 * 8.0);

// Failure rate of a job, from the number of failures for each GPU and day.
Hertz failure_rate(double per_gpu_day, double gpus);

// The interval that makes the job shortest. REQUIRES failures > 0, write > 0.
//   young_interval    Young 1974: sqrt(2 write / r)
//   daly_interval     Daly 2006: further terms of the series; 1/r if write >= 2/r
//   optimal_interval  the minimum of the exact time: (1 - r t) e^(r t) = e^(-r write)
Seconds young_interval(Seconds write, Hertz failures);
Seconds daly_interval(Seconds write, Hertz failures);
Seconds optimal_interval(Seconds write, Hertz failures);

// Expected times of a run. `total` is the sum of the work and the three losses.
struct FailingRun {
  Seconds total, work;
  Seconds checkpoints, rework, restarts;
  double failures = 0;  // expected number

  double goodput() const { return total > Seconds(0) ? work / total : 1; }
};
// REQUIRES that no number is negative. Throws Infeasible if less than 1 % of the time would be
// work.
FailingRun expected_run(Seconds work, const CheckpointPlan& plan);

// The time of one random run, failure by failure. It takes about 30 ns for each failure.
Seconds random_run(Seconds work, const CheckpointPlan& plan, RandomStream& random);

}  // namespace orrery
