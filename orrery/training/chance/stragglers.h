// The slowest of n ranks: a synchronous step takes as long as the last rank's.
//
// A rank's time is the median rank's times exp(a Z + b Y): Z, normal, is the GPU's own (its clock,
// its cooling, its place) and stays through a run; Y is drawn in every step. The largest of n is
// taken by order statistics, so that 100,000 ranks cost what 8 do.
//
// How large a and b are: PRISM (reference/training.md) found 9 % of variability of GPU time on 64k
// GPUs, and 14 % between GEMMs of one kind. One operation's deviation is not a step's: see
// combined().
#pragma once

#include <cstdint>
#include <span>

#include "orrery/base/random.h"

namespace orrery {

// Deviations of the logarithm of a rank's time.
struct Variability {
  double gpu = 0;   // a: persistent
  double step = 0;  // b: anew in every step
};

// A step from its operations, of which each class takes a share of the time in so many calls.
// Between GPUs a class is slow as a whole; between calls deviations average out.
//   gpu = sqrt(sum (share a)^2), step = sqrt(sum (share b)^2 / calls)
struct OpVariability {
  double share = 0, calls = 1;  // calls >= 1
  Variability one;              // of a call
};
Variability combined(std::span<const OpVariability> ops);

// The p-quantile of the slowest rank's factor, and its mean. REQUIRES ranks >= 1, sigma >= 0,
// 0 < p < 1.
double slowest_quantile(std::int64_t ranks, double sigma, double p);
double slowest_mean(std::int64_t ranks, double sigma);

// The slowest rank's factor over the steps of one run, whose GPUs are drawn: mean and standard
// deviation. The largest eight Z are drawn and kept, the others only as a distribution below them.
struct RunFactor {
  double mean = 1, deviation = 0;
};
RunFactor random_run_factor(std::int64_t ranks, const Variability& variability,
                            RandomStream& random);

}  // namespace orrery
