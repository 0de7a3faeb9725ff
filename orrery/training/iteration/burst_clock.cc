#include "orrery/training/iteration/burst_clock.h"

#include <cmath>

namespace orrery {
namespace {

// Boards average their power over some tens of milliseconds, and a sweep makes some tens of calls.
// An assumption: no sweep states its clock call by call.
constexpr Seconds kHalf = milliseconds(1);

}  // namespace

double burst_factor(const Gpu& gpu, Seconds call) {
  const double burst = gpu.architecture.burst;
  return burst > 0 ? 1 + burst / (1 + call / kHalf) : 1;
}

double power_factor(const Gpu& gpu) {
  const GpuArchitecture& a = gpu.architecture;
  if (!a.full_power || !a.full_bf16 || !gpu.power || *gpu.power >= *a.full_power) return 1;
  return gpu.peak(Dtype::kBf16) < 0.99 * *a.full_bf16 ? 1 : std::cbrt(*a.full_power / *gpu.power);
}

void run_in_step(const Gpu& gpu, TrainingCost cost, double together, KernelTime& time) {
  const bool product = cost == TrainingCost::kProducts || cost == TrainingCost::kExperts ||
                       cost == TrainingCost::kHead;
  const bool attention =
      cost == TrainingCost::kAttention || cost == TrainingCost::kAttentionBackward;
  if (product) time.time = time.time.scaled(burst_factor(gpu, time.time.value / together));
  if (product || attention) time.time = time.time.scaled(power_factor(gpu));
}

}  // namespace orrery
