// The wait of a step for the slowest rank of the job.
//
// A collective ends when its slowest rank arrives. If the computation of a rank in a step takes
// exp(s Z) times that of the median rank, with Z standard normal, the slowest of n ranks takes
// exp(s M(n)), where M(n) is the expected largest of n draws. M(1) = 0, and M(n) grows like
// sqrt(2 ln n): 1.4 for 8 ranks, 3.0 for 512, 3.9 for 16,384. The chance room
// (orrery/training/chance/stragglers.h) draws the same maximum with a user's deviations.
#pragma once

#include "orrery/base/units.h"

namespace orrery {

// M(n) by Blom's approximation, the normal quantile of (n - 3/8) / (n + 1/4): within 1 % from 8
// ranks on. REQUIRES ranks >= 1.
double expected_largest(double ranks);

// The time by which the slowest of `ranks` ranks computes longer than the median one. `deviation`
// is s.
Seconds straggler_time(Seconds computation, double ranks, double deviation);

}  // namespace orrery
