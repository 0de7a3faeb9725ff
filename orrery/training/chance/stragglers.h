// The slowest of n ranks. A synchronous step takes as long as the step of the slowest rank.
//
// The time of a rank is the time of the median rank times exp(a Z + b Y). Z and Y are standard
// normal. Z belongs to the GPU (its clock, its cooling, its place) and stays the same during a run;
// Y is drawn again in every step. The maximum over n ranks comes from order statistics, so that
// 100,000 ranks take as long to compute as 8.
//
// Sizes of a and b: PRISM (docs/reference/training.md) found a variability of 9 % of GPU time on
// 64,000 GPUs, and of up to 14 % of one kind of GEMM between GPUs. The deviation of one operation
// is not that of a step: see combined().
#pragma once

#include <cstdint>
#include <span>

#include "orrery/base/random.h"

namespace orrery {

// Standard deviations of the logarithm of a rank's time.
struct Variability {
  double gpu = 0;   // a: the same in all steps of a run
  double step = 0;  // b: drawn again in every step
};

// A class of operations in a step.
struct OpVariability {
  double share = 0;  // of the step's time, 0 to 1
  double calls = 1;  // number of calls in a step, >= 1
  Variability one;   // of one call
};
// The variability of a step from those of its operations. On a slow GPU all calls of a class are
// slow; deviations between calls average out:
//   gpu = sqrt(sum (share a)^2), step = sqrt(sum (share b)^2 / calls)
Variability combined(std::span<const OpVariability> ops);

// The p-quantile and the mean of the slowest rank's factor exp(sigma Z). REQUIRES ranks >= 1,
// sigma >= 0, 0 < p < 1.
double slowest_quantile(std::int64_t ranks, double sigma, double p);
double slowest_mean(std::int64_t ranks, double sigma);

// Mean and standard deviation of the slowest rank's factor over the steps of one run.
struct RunFactor {
  double mean = 1, deviation = 0;
};
// Draws the GPUs of a run. The largest eight Z are drawn and kept; the others count as a
// distribution below them.
RunFactor random_run_factor(std::int64_t ranks, const Variability& variability,
                            RandomStream& random);

}  // namespace orrery
