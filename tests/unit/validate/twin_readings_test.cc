// Are twins and the nearest readings found, and only they?
#include "orrery/validate/energy/twin_readings.h"

#include <gtest/gtest.h>

#include <cmath>

namespace orrery {
namespace twin_readings_test {

KernelPowerRow call(double milliseconds_of_call, double watts, double size) {
  KernelPowerRow r;
  r.family = &gemm_family();
  r.kernel_class = "bf16", r.gpu = "mine", r.framework = "vllm";
  r.time = milliseconds(milliseconds_of_call);
  r.used = {0.5, 0.5};
  r.power = Watts(watts);
  r.sizes = {size, 0, 0, 0};
  return r;
}

TEST(TwinReadings, ComparesEachCallWithItsNearestTwin) {
  // The first two are a tenth of a doubling apart; the third is a doubling from both, the fourth is
  // another class.
  std::vector<KernelPowerRow> rows = {call(1, 400, 10), call(1, 440, 10.1), call(1, 900, 11),
                                      call(1, 900, 10)};
  rows[3].kernel_class = "fp8";
  const TwinReadings all = twin_readings(rows, milliseconds(0.1), milliseconds(10));
  EXPECT_EQ(all.calls, 2u);
  EXPECT_NEAR(all.difference, std::log(1.1), 1e-12);
  EXPECT_EQ(twin_readings(rows, milliseconds(2), milliseconds(10)).calls, 0u);
}

TEST(NearestReadings, WeighTheNearestAndLeaveOutWhatAFitMayNotSee) {
  // Four readings at the distances 0, 0.32, 0.32 and far away; the left-out row at the place of the
  // call would be the nearest of all.
  std::vector<KernelPowerRow> rows = {call(1, 400, 10), call(1, 800, 10 + kTwinDistance),
                                      call(1, 800, 10 - kTwinDistance), call(1, 50, 30),
                                      call(1, 1e6, 10)};
  rows.back().left_out = true;
  // The weights are 1, 1/2, 1/2 and 1/3907 of the first.
  const double far = 1 / (1 + 400 / (kTwinDistance * kTwinDistance));
  const double expected = (std::log(400) + std::log(800) + far * std::log(50)) / (2 + far);
  EXPECT_NEAR(std::log(NearestReadings(rows).of(rows.back()).value()), expected, 1e-12);
  rows[3].kernel_class = "fp8";  // three are too few
  EXPECT_EQ(NearestReadings(rows).of(rows.back()).value(), 0);
}

}  // namespace twin_readings_test
}  // namespace orrery
