#include "orrery/kernel/tiers/clocked_kernels.h"

#include <algorithm>
#include <cmath>

namespace orrery {

double clock_share(Seconds compute, Seconds memory, Seconds time) {
  if (time <= Seconds(0)) return 0;
  const double c = compute / time, m = memory / time;
  const double of_compute = c + m > 0 ? c * c / (c * c + m * m) : 0;
  const double unused = 1 - std::min(1.0, std::hypot(c, m));
  return of_compute + (1 - of_compute) * kLatencyShare * unused;
}

double clock_factor(Seconds compute, Seconds memory, Seconds time, double slowdown) {
  if (time <= Seconds(0)) return 1;
  const double share = clock_share(compute, memory, time);
  const double hidden = std::cbrt(1 + share * (slowdown * slowdown * slowdown - 1));
  return std::max(hidden, slowdown * std::min(1.0, compute / time));
}

Estimate<Seconds> clocked(const Estimate<Seconds>& time, double factor) {
  if (factor <= 1) return time;
  Estimate<Seconds> out = time.scaled(factor);
  out.shared = std::hypot(out.shared, kClockError * (1 - 1 / factor));
  out.origin = std::max(out.origin, Origin::kTransferred);
  return out;
}

KernelTime ClockedKernels::at_clock(KernelTime t) const {
  if (slowdown_ <= 1) return t;
  t.time = clocked(t.time, clock_factor(t.compute, t.memory, t.time.value, slowdown_));
  return t;
}

}  // namespace orrery
