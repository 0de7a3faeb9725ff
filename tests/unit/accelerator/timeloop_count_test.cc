// Counts of small nests, worked out by hand.
#include "orrery/accelerator/count/timeloop_count.h"

#include <gtest/gtest.h>

#include "orrery/accelerator/cost/nest_cost.h"
#include "orrery/accelerator/count/validity.h"

namespace orrery {
namespace timeloop_count_test {

// Z[m, n] += A[m, k] * B[k, n] with M = 4, N = 6, K = 8.
Einsum gemm() {
  Einsum e;
  e.dims = {"M", "N", "K"};
  e.sizes = {4, 6, 8};
  e.tensors = {{"A", {{{0, 1}}, {{2, 1}}}, false, 16},
               {"B", {{{2, 1}}, {{1, 1}}}, false, 16},
               {"Z", {{{0, 1}}, {{1, 1}}}, true, 16}};
  return e;
}

enum Dim { kM, kN, kK };

// A memory above a buffer above an array of 1 x 4 units.
Chip chip() {
  Chip c;
  c.levels.resize(2);
  c.levels[0].name = "DRAM";
  c.levels[1].name = "Buffer";
  c.levels[1].words = 64;
  c.levels[1].array = {{"X", 4, {}}, {"Y", 1, {}}};
  return c;
}

std::vector<MappingNode> all_held() { return {hold(0, 0), hold(0, 1), hold(0, 2)}; }

NestCounts counts_of(const Einsum& e, const Chip& c, const Mapping& m) {
  NestCounts counts;
  TimeloopCounter(e, c).count(m, counts);
  return counts;
}

TEST(TimeloopCount, AnInnermostLoopThatDoesNotMoveATileLeavesItInPlace) {
  // The buffer holds a row of A and a row of Z; N runs inside of M.
  Mapping m{all_held(), {}};
  for (const int t : {0, 1, 2}) m.nodes.push_back(hold(1, t));
  m.nodes.insert(m.nodes.begin() + 3, {time_loop(0, kM, 4), time_loop(0, kN, 6)});
  m.nodes.push_back(time_loop(1, kK, 8));
  const NestCounts c = counts_of(gemm(), chip(), m);
  EXPECT_EQ(c.steps, 4 * 6 * 8);
  // A's row of 8 stays while N runs: every word of A is read once.
  EXPECT_EQ(c.levels[0].tensors[0].reads, 4 * 8);
  // B's column of 8 changes with N and returns with M.
  EXPECT_EQ(c.levels[0].tensors[1].reads, 4 * 6 * 8);
  // An output of 1 word is written once, and never read back.
  EXPECT_EQ(c.levels[0].tensors[2].updates, 4 * 6);
  EXPECT_EQ(c.levels[0].tensors[2].reads, 0);
  EXPECT_EQ(c.levels[1].tensors[2].updates, 4 * 6 * 8);
  EXPECT_EQ(c.levels[1].tensors[2].reads, 4 * 6 * 8 - 4 * 6);
}

TEST(TimeloopCount, PartialSumsReturnWhenAReductionRunsOutside) {
  Mapping m{all_held(), {}};
  m.nodes.insert(m.nodes.end(), {time_loop(0, kK, 8), time_loop(0, kM, 4), hold(1, 0), hold(1, 1),
                                 hold(1, 2), time_loop(1, kN, 6)});
  const NestCounts c = counts_of(gemm(), chip(), m);
  // Z's row of 6 goes out 8 x 4 times and comes back all but the first time.
  EXPECT_EQ(c.levels[0].tensors[2].updates, 8 * 4 * 6);
  EXPECT_EQ(c.levels[0].tensors[2].reads, 7 * 4 * 6);
  EXPECT_EQ(c.levels[1].tensors[2].fills, 7 * 4 * 6);
}

TEST(TimeloopCount, EqualTilesAreMulticastUnlessTheMappingForbidsIt) {
  Mapping m{all_held(), {}};
  m.nodes.insert(m.nodes.end(),
                 {time_loop(0, kM, 4), hold(1, 0), hold(1, 1), hold(1, 2), time_loop(1, kN, 3),
                  time_loop(1, kK, 8), space_loop(1, 0, kN, 2)});
  NestCounts c = counts_of(gemm(), chip(), m);
  EXPECT_EQ(c.compute_units, 2);
  EXPECT_EQ(c.levels[1].tensors[0].reads, c.steps);  // one word of A for both units
  EXPECT_EQ(c.levels[1].tensors[1].reads, 2 * c.steps);
  m.unicast = {{1, 0}};
  c = counts_of(gemm(), chip(), m);
  EXPECT_EQ(c.levels[1].tensors[0].reads, 2 * c.steps);
}

TEST(TimeloopCount, ASlidingWindowFetchesWhatIsNew) {
  // Z[p] += I[p + r] * W[r] with P = 5, R = 3; the buffer holds a window of 3.
  Einsum e;
  e.dims = {"P", "R"};
  e.sizes = {5, 3};
  e.tensors = {{"I", {{{0, 1}, {1, 1}}}, false, 16},
               {"W", {{{1, 1}}}, false, 16},
               {"Z", {{{0, 1}}}, true, 16}};
  Mapping m{all_held(), {}};
  m.nodes.insert(m.nodes.end(),
                 {time_loop(0, 0, 5), hold(1, 0), hold(1, 1), hold(1, 2), time_loop(1, 1, 3)});
  const NestCounts c = counts_of(e, chip(), m);
  EXPECT_EQ(c.levels[1].tensors[0].tile, 3);
  EXPECT_EQ(c.levels[0].tensors[0].reads, 3 + 4);
}

TEST(Validity, NamesTheLevelAndTheMissingWords) {
  const Einsum e = gemm();
  Mapping m{all_held(), {}};
  m.nodes.insert(m.nodes.end(), {hold(1, 0), hold(1, 1), hold(1, 2), time_loop(1, kM, 4),
                                 time_loop(1, kK, 8), space_loop(1, 0, kN, 6)});
  const Chip c = chip();
  const NestCounts counts = counts_of(e, c, m);
  const std::vector<Violation> capacity = capacity_violations(c, counts);
  ASSERT_EQ(capacity.size(), 1u);
  // 32 + 48 + 24 words in a buffer of 64.
  EXPECT_EQ(to_text(capacity[0], e, c, counts),
            "Buffer: tiles take 104 words (A 32, B 48, Z 24); an instance has 64: 40 too many");
  const std::vector<Violation> fan_out = fan_out_violations(c, m);
  ASSERT_EQ(fan_out.size(), 1u);
  EXPECT_EQ(to_text(fan_out[0], e, c, counts),
            "Buffer: loops in space take 6 instances along X; the array has 4");
}

TEST(NestCost, TheSlowestLevelSetsTheCycles) {
  const Einsum e = gemm();
  Chip c = chip();
  c.levels[0].read_bandwidth = 0.5;
  c.levels[0].energy = {10, 20, 30, 0};
  c.levels[0].block = 4;
  Mapping m{all_held(), {}};
  m.nodes.insert(m.nodes.end(), {time_loop(0, kM, 4), time_loop(0, kN, 6), hold(1, 0), hold(1, 1),
                                 hold(1, 2), time_loop(1, kK, 8)});
  const NestCounts counts = counts_of(e, c, m);
  NestCost cost;
  cost_nest(c, counts, cost);
  // 32 + 192 words at half a word a cycle, against 192 steps.
  EXPECT_EQ(cost.cycles, 448);
  // Blocks of 4: 8 reads of A, 48 of B, 6 updates of Z.
  EXPECT_EQ(cost.energy, 8 * 10 + 48 * 10 + 6 * 30);
}

}  // namespace timeloop_count_test
}  // namespace orrery
