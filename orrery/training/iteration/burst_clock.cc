#include "orrery/training/iteration/burst_clock.h"

namespace orrery {
namespace {

// 1.98 GHz over 1.41 to 1.55 is 1.28 to 1.40.
constexpr double kBurst = 0.3;
// Boards average their power over some tens of milliseconds, and a sweep makes some tens of calls.
// An assumption: no sweep states its clock call by call.
constexpr Seconds kHalf = milliseconds(1);
constexpr int kHopper = 90, kAfterDataCentre = 110;

}  // namespace

double burst_factor(const Gpu& gpu, Seconds call) {
  const bool limited = gpu.sm_version >= kHopper && gpu.sm_version < kAfterDataCentre;
  return limited ? 1 + kBurst / (1 + call / kHalf) : 1;
}

void run_in_step(const Gpu& gpu, TrainingCost cost, double together, KernelTime& time) {
  const bool product = cost == TrainingCost::kProducts || cost == TrainingCost::kExperts ||
                       cost == TrainingCost::kHead;
  if (product) time.time = time.time.scaled(burst_factor(gpu, time.time.value / together));
}

}  // namespace orrery
