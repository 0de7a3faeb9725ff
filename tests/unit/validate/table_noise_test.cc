// Is the noise of a table that of its readings of one call, and of those nearest to it?
#include "orrery/validate/energy/table_noise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace orrery {
namespace table_noise_test {

KernelPowerRow reading(double milliseconds_of_call, double watts, std::int64_t m) {
  KernelPowerRow r;
  Gemm product;
  product.m = m, product.n = 64, product.k = 64;
  r.op = product;
  r.family = &gemm_family();
  r.kernel_class = "bf16", r.gpu = "mine", r.framework = "vllm";
  r.time = milliseconds(milliseconds_of_call);
  r.used = {0.5, 0.5};
  r.power = Watts(watts);
  return r;
}

// A call that was read at 400 and 500 W: the one misses the other by 25 and by 20 %. Calls that
// were read once, and readings that are rows of another family too, say nothing.
TEST(TableNoise, ReadingsOfTheSameCallPredictEachOther) {
  std::vector<KernelPowerRow> rows = {reading(1, 400, 16), reading(1, 500, 16), reading(1, 900, 32),
                                      reading(1, 50, 16)};
  rows.back().again = true;
  const ReadingsMiss miss = same_call_misses(rows, kLongCall, seconds(1));
  EXPECT_EQ(miss.calls, 2u);
  EXPECT_NEAR(miss.mean, (0.25 + 0.2) / 2, 1e-12);
  EXPECT_EQ(same_call_misses(rows, Seconds(0), kLongCall).calls, 0u);
  rows[1].gpu = "another";
  EXPECT_EQ(same_call_misses(rows, kLongCall, seconds(1)).calls, 0u);
}

// Half of what is left above the awake board: 450 of 700 W with 200 W awake is 550 of 1,000 W with
// 100 W awake. A call that no other GPU has read says nothing.
TEST(TableNoise, AnotherGpuTellsTheShareAboveItsAwakeBoard) {
  std::vector<KernelPowerRow> rows = {reading(1, 450, 16), reading(1, 800, 16),
                                      reading(1, 800, 32)};
  rows[0].limit = Watts(700), rows[1].limit = rows[2].limit = Watts(1000);
  rows[1].gpu = rows[2].gpu = "another";
  const SameCalls same(rows);
  const BoardPowers boards({{"mine", 200.0 / 700}}, 1);
  const BoardPower another{Watts(1000), {Watts(100)}, 1};
  EXPECT_NEAR(same.elsewhere(rows[1], boards, another).value(), 550, 1e-9);
  EXPECT_EQ(same.elsewhere(rows[2], boards, another), Watts(0));
  EXPECT_EQ(same.again(rows[1]), Watts(0));
}

// Left-out calls are predicted by readings that a fit may see: four of 400 W miss 500 W by 20 %.
TEST(TableNoise, NearestReadingsPredictLeftOutCalls) {
  std::vector<KernelPowerRow> rows(4, reading(1, 400, 16));
  rows.push_back(reading(1, 500, 32));
  rows.back().left_out = true;
  const ReadingsMiss miss = nearest_misses(rows, kLongCall, seconds(1));
  EXPECT_EQ(miss.calls, 1u);
  EXPECT_NEAR(miss.mean, 0.2, 1e-12);
  EXPECT_THAT(note_of_readings(rows), testing::HasSubstr("20.0 / 20.0"));
}

}  // namespace table_noise_test
}  // namespace orrery
