#include "orrery/training/overlap/slowest_rank.h"

#include <cmath>

#include "orrery/base/estimate.h"

namespace orrery {

double expected_largest(double ranks) {
  return ranks <= 1 ? 0 : normal_quantile((ranks - 0.375) / (ranks + 0.25));
}

Seconds straggler_time(Seconds computation, double ranks, double deviation) {
  return computation * std::expm1(deviation * expected_largest(ranks));
}

}  // namespace orrery
