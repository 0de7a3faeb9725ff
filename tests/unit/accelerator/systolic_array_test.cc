// Systolic arrays on tiny products, worked out by hand.
#include "orrery/accelerator/systolic/systolic_array.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/error.h"

namespace orrery {
namespace systolic_array_test {

SystolicArray array(SystolicDataflow dataflow) {
  SystolicArray a;
  a.rows = 2;
  a.columns = 3;
  a.dataflow = dataflow;
  return a;
}

TEST(SystolicArray, OneOutputStationaryFold) {
  // Z[2, 3] += A[2, 4] B[4, 3] on 2 x 3 units: words enter for 4 cycles, the last unit starts 1 + 2
  // cycles later. The clock starts at 0.
  const SystolicRun run =
      run_systolic(array(SystolicDataflow::kOutputStationary), {.m = 2, .n = 3, .k = 4});
  EXPECT_EQ(run.cycles, 4 + 2 + 3 - 2 - 1);
  EXPECT_EQ(run.stalls, 0);
  EXPECT_DOUBLE_EQ(run.utilization, 24.0 / (6 * 6));
  EXPECT_DOUBLE_EQ(run.mapping_efficiency, 1);
  EXPECT_DOUBLE_EQ(run.compute_utilization, 4.0 / 7);
  EXPECT_EQ(run.input_reads, 8);
  EXPECT_EQ(run.filter_reads, 12);
  EXPECT_EQ(run.output_writes, 6 + 2 + 3);  // with the tool's surplus
  // 8 and 12 words in requests of 10.
  EXPECT_EQ(run.input_fetches, 10);
  EXPECT_EQ(run.filter_fetches, 20);
  EXPECT_EQ(run.output_drains, 6);
}

TEST(SystolicArray, WeightStationaryFoldsOfUnequalWidth) {
  // K = 5 takes three folds along 2 rows, N = 4 two along 3 columns; M = 6 streams.
  const SystolicRun run =
      run_systolic(array(SystolicDataflow::kWeightStationary), {.m = 6, .n = 4, .k = 5});
  EXPECT_EQ(run.cycles, 3 * 2 * (6 + 2 * 2 + 3 - 2) - 1);
  EXPECT_DOUBLE_EQ(run.mapping_efficiency, 5.0 * 4 / (6 * 6));
  EXPECT_EQ(run.input_reads, 6 * 5 * 2);
  EXPECT_EQ(run.filter_reads, 5 * 4);
  EXPECT_EQ(run.output_writes, 6 * 4 * 3);
}

TEST(SystolicArray, InputStationaryIsTheTransposedProduct) {
  const SystolicRun is =
      run_systolic(array(SystolicDataflow::kInputStationary), {.m = 4, .n = 6, .k = 5});
  const SystolicRun ws =
      run_systolic(array(SystolicDataflow::kWeightStationary), {.m = 6, .n = 4, .k = 5});
  EXPECT_EQ(is.cycles, ws.cycles);
  EXPECT_EQ(is.filter_reads, ws.input_reads);
  EXPECT_EQ(is.input_reads, ws.filter_reads);
  EXPECT_EQ(is.filter_fetches, ws.input_fetches);
  EXPECT_EQ(is.output_writes, ws.output_writes);
}

TEST(SystolicArray, AMissWaitsForTheNextHalf) {
  // One unit and an operand of 1 x 120 words in a memory of 100 words: half of it is there at the
  // start, and word 50 asks for the next half, requested as 50 lines of one word and answered in
  // cycle -1 + 50 + 1 = 50. The array asks at 50 and takes words a cycle after asking: no wait.
  // Word 100 asks for another half, answered in 101, which is also in time.
  SystolicArray a;
  a.rows = a.columns = 1;
  a.input_words = 100;
  a.read_bandwidth = 1;
  const MatrixProduct p{.m = 1, .n = 1, .k = 120};
  a.filter_words = 1000;
  a.late_words = LateWords::kOnce;
  SystolicRun run = run_systolic(a, p);
  EXPECT_EQ(run.stalls, 0);
  EXPECT_EQ(run.input_fetches, 150);
  // The second column's fold begins in cycle 120. Words 100 to 119, an empty set and words 0 to 28
  // are held. Word 29 is due in 150 and comes in 152; word 79 is due in 202 and comes in 203.
  run = run_systolic(a, {.m = 1, .n = 2, .k = 120});
  EXPECT_EQ(run.input_fetches, 50 * 5);
  EXPECT_EQ(run.stalls, 2 + 1);
}

TEST(SystolicArray, LateWordsCountTwiceAsTheToolHasIt) {
  // Two rows ask for twice the bandwidth. The operand's diagonals alternate between the rows: of
  // 200 words, number 50 is asked for in cycle 25 and answered in 50; it was due in 26.
  SystolicArray a;
  a.rows = 2;
  a.columns = 1;
  a.input_words = 100;
  a.filter_words = 1000;
  a.read_bandwidth = 1;
  a.late_words = LateWords::kOnce;
  const MatrixProduct p{.m = 2, .n = 1, .k = 51};
  const std::int64_t once = run_systolic(a, p).stalls;
  // Word 100 is asked for 25 cycles later and answered in 101.
  EXPECT_EQ(once, (50 - 26) + (101 - (26 + 24 + 25)));
  a.late_words = LateWords::kScaleSim;
  // The first wait is 48, so that word 100 is due in 25 + 25 + 48 + 1 and waits for 2 x 2 cycles.
  EXPECT_EQ(run_systolic(a, p).stalls, 2 * (50 - 26) + 2 * (101 - 99));
}

TEST(SystolicArray, ResultsDrainWhenMoreThanHalfOfTheirMemoryIsFull) {
  // 1 x 1 unit, weight stationary, M = 120 results in a memory of 100 words: result 51 starts a
  // drain of 50 words.
  SystolicArray a;
  a.rows = a.columns = 1;
  a.dataflow = SystolicDataflow::kWeightStationary;
  a.output_words = 100;
  a.write_bandwidth = 1;
  const SystolicRun run = run_systolic(a, {.m = 120, .n = 1, .k = 1});
  EXPECT_EQ(run.stalls, 0);  // a word a cycle in, a word a cycle out
  EXPECT_EQ(run.output_drains, 120);
}

TEST(SystolicArray, RefusesWhatIsNotAnArray) {
  SystolicArray a;
  a.rows = 0;
  EXPECT_THAT([&] { run_systolic(a, {}); },
              testing::ThrowsMessage<InputError>(testing::HasSubstr("rows of the array is 0")));
  a.rows = 8;
  a.output_words = 64;
  EXPECT_THAT([&] { run_systolic(a, {}); },
              testing::ThrowsMessage<InputError>(testing::HasSubstr("output memory of 64 words")));
}

}  // namespace systolic_array_test
}  // namespace orrery
