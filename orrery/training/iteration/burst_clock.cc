#include "orrery/training/iteration/burst_clock.h"

#include <cmath>

namespace orrery {
namespace {

// 1.98 GHz over 1.41 to 1.55 is 1.28 to 1.40.
constexpr double kBurst = 0.3;
// Boards average their power over some tens of milliseconds, and a sweep makes some tens of calls.
// An assumption: no sweep states its clock call by call.
constexpr Seconds kHalf = milliseconds(1);
constexpr int kHopper = 90, kAfterDataCentre = 110;
// The data sheet of the H100 SXM.
constexpr Watts kSxmPower{700};
constexpr FlopsPerSecond kSxmPeak{989.4e12};

}  // namespace

double burst_factor(const Gpu& gpu, Seconds call) {
  const bool limited = gpu.sm_version >= kHopper && gpu.sm_version < kAfterDataCentre;
  return limited ? 1 + kBurst / (1 + call / kHalf) : 1;
}

double power_factor(const Gpu& gpu) {
  if (gpu.sm_version != kHopper || !gpu.power || *gpu.power >= kSxmPower) return 1;
  return gpu.peak(Dtype::kBf16) < 0.99 * kSxmPeak ? 1 : std::cbrt(kSxmPower / *gpu.power);
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
