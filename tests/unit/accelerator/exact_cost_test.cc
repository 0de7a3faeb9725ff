// The convention exact, by hand: filling, draining, buffers of one and of two tiles, imperfect
// factors, halos and sums over an array.
#include "orrery/accelerator/cost/exact_cost.h"

#include <gtest/gtest.h>

#include "orrery/accelerator/architecture/chip_yaml.h"

namespace orrery {
namespace exact_cost_test {

Cascade cascade(const std::string& einsum, const std::string& sizes) {
  return read_cascade(parse_yaml(
      "name: w\nbits: 8\nsizes: {" + sizes + "}\neinsums: ['" + einsum + "']\n", "w.yaml"));
}

Chip two_memories(const std::string& buffer) {
  return read_chip(parse_yaml(R"(
name: two
word_bits: 8
levels:
  - {name: Main, bandwidth: 2 GB/s, read_pj: 100, write_pj: 200}
  - {name: Buffer, read_pj: 1, write_pj: 2, )" +
                                  buffer + R"(}
compute: {name: MAC, rate: 1 GHz, pj: 3}
)",
                              "two.yaml"));
}

ExactCascadeCost cost_of(const Chip& c, const Cascade& w, Mapping mapping, bool twice) {
  CascadeMapping m;
  m.steps = {{std::move(mapping), 0, -1}};
  return cost_exact_cascade(c, w, m, {twice, false});
}

const ExactTensorTraffic& holder(const ExactCascadeCost& cost, int level, int tensor) {
  for (const ExactTensorTraffic& h : cost.traffic[0].holders) {
    if (h.level == level && h.tensor == tensor) return h;
  }
  throw std::out_of_range("holder");
}

// Z[m] = A[m] * B[m] for 8 values, in tiles of 4: tensors 0 Z, 1 A, 2 B.
Mapping tiles_of_four() {
  return {{hold(0, 0), hold(0, 1), hold(0, 2), time_loop(0, 0, 2), hold(1, 0), hold(1, 1),
           hold(1, 2), time_loop(1, 0, 4)},
          {}};
}

TEST(ExactCost, FillingAndDrainingComeBeforeAndAfterTheWork) {
  const Chip c = two_memories("capacity: 1 KiB");
  const Cascade w = cascade("Z[m] = A[m] * B[m]", "m: 8");
  const ExactCascadeCost cost = cost_of(c, w, tiles_of_four(), true);
  // 4 words each of A and B at 2 a cycle; 4 of Z at the end. Main moves 24 words in all.
  EXPECT_EQ(cost.steps[0].fill, 4);
  EXPECT_EQ(cost.steps[0].drain, 2);
  EXPECT_EQ(cost.steps[0].memories[0].port_cycles, 12);
  EXPECT_EQ(cost.steps[0].cycles, 4 + 8 + 2);
  EXPECT_EQ(cost.steps[0].bound, -1);
  // Main: 16 read, 8 written. Buffer: A and B are written and read, Z written and sent back.
  EXPECT_NEAR(cost.steps[0].memories[0].energy, (16 * 100 + 8 * 200) * 1e-12, 1e-20);
  EXPECT_NEAR(cost.steps[0].memories[1].energy, (16 * 3 + 8 * 3) * 1e-12, 1e-20);
  EXPECT_NEAR(cost.steps[0].compute_energy, 24e-12, 1e-20);
}

TEST(ExactCost, ASingleBufferWaitsForEveryTile) {
  const Chip c = two_memories("capacity: 1 KiB");
  const Cascade w = cascade("Z[m] = A[m] * B[m]", "m: 8");
  const ExactCascadeCost cost = cost_of(c, w, tiles_of_four(), false);
  // Both tiles of A, B and Z: 24 words at 2 a cycle, and 8 steps.
  EXPECT_EQ(cost.steps[0].transfers, 12);
  EXPECT_EQ(cost.steps[0].cycles, 20);
}

TEST(ExactCost, TilesThatChangeTakeTheirRoomTwice) {
  const Cascade w = cascade("Z[m] = A[m] * B[m]", "m: 8");
  Chip c = two_memories("capacity: 12 B");
  const ExactCascadeCost cost = cost_of(c, w, tiles_of_four(), true);
  EXPECT_TRUE(exact_overflows(c, w, cost, {false, false}).empty());
  const std::vector<ExactOverflow> found = exact_overflows(c, w, cost, {true, false});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(to_text(found[0], c, w, cost, {true, false}),
            "Z: Buffer would hold 192 bits (twice Z 32, twice A 32, twice B 32) and has room for "
            "96; 96 are missing");
  // A tile that is never moved needs no second copy.
  const Mapping whole = {
      {hold(0, 0), hold(0, 1), hold(0, 2), hold(1, 0), hold(1, 1), hold(1, 2), time_loop(1, 0, 8)},
      {}};
  c.levels[1].words = 24;
  EXPECT_TRUE(exact_overflows(c, w, cost_of(c, w, whole, true), {true, false}).empty());
}

TEST(ExactCost, SevenValuesOnFourUnitsTakeTwoSteps) {
  const Chip c = two_memories("array: [{name: X, size: 4}]");
  const Cascade w = cascade("Z[m] = A[m] * B[k]", "m: 7, k: 1");
  const ExactCascadeCost cost =
      cost_of(c, w,
              {{hold(0, 0), hold(0, 1), hold(0, 2), hold(1, 0), hold(1, 1), hold(1, 2),
                time_loop(1, 0, 2), space_loop(1, 0, 0, 4)},
               {}},
              true);
  EXPECT_EQ(cost.traffic[0].steps, 2);
  EXPECT_EQ(cost.steps[0].compute_cycles, 2);
  EXPECT_NEAR(cost.steps[0].compute_energy, 21e-12, 1e-20);  // 7 operations
  EXPECT_EQ(holder(cost, 1, 1).all.reads, 7);
  EXPECT_EQ(holder(cost, 1, 2).all.reads, 2);  // one read of B serves all units
}

TEST(ExactCost, AHaloIsKeptWhereATileSlides) {
  const Chip c = two_memories("capacity: 1 KiB");
  const Cascade w = cascade("Y[p] = X[p + r] * F[r]", "p: 6, r: 3");
  const ExactCascadeCost cost =
      cost_of(c, w,
              {{hold(0, 0), hold(0, 1), hold(0, 2), time_loop(0, 0, 2), hold(1, 0), hold(1, 1),
                hold(1, 2), time_loop(1, 0, 3), time_loop(1, 1, 3)},
               {}},
              true);
  EXPECT_EQ(holder(cost, 0, 1).all.reads, 8);  // not two tiles of 5
  EXPECT_EQ(holder(cost, 0, 2).all.reads, 3);
  EXPECT_FALSE(holder(cost, 1, 2).changes);
  EXPECT_EQ(holder(cost, 1, 1).tile, 5);
}

TEST(ExactCost, PartialSumsBeginAtNothingAndAreAddedAlongAnArray) {
  // Z[m] += A[m, k]: k runs over two passes outside of Buffer, and four units add along X.
  const Chip c = two_memories("array: [{name: X, size: 4, shared: [output]}]");
  const Cascade w = cascade("Z[m] = A[m, k] * B[k]", "m: 5, k: 8");
  const ExactCascadeCost cost =
      cost_of(c, w,
              {{hold(0, 0), hold(0, 1), hold(0, 2), time_loop(0, 1, 2), hold(1, 0), hold(1, 1),
                hold(1, 2), time_loop(1, 0, 5), space_loop(1, 0, 1, 4)},
               {}},
              true);
  const ExactTensorTraffic& z = holder(cost, 1, 0);
  // Each pass adds 5 sums of four products; the second pass takes up those of the first, which
  // stay in Buffer.
  EXPECT_EQ(z.all.updates, 10);
  EXPECT_EQ(z.all.fills, 0);
  EXPECT_EQ(z.all.reads, 5 + 5);  // taken up by the units, and sent to Main at the end
  EXPECT_EQ(holder(cost, 0, 0).all.updates, 5);
  EXPECT_EQ(holder(cost, 0, 0).all.reads, 0);
}

TEST(ExactCost, EinsumsThatShareLoopsLoseWhatIsNotHeldInThem) {
  const Chip c = two_memories("capacity: 1 KiB");
  const Cascade w = cascade("Z[m] = A[m] * B[k]", "m: 4, k: 2");
  const Mapping m = {
      {hold(0, 0), hold(0, 1), hold(0, 2), time_loop(0, 0, 4), hold(1, 2), time_loop(1, 1, 2)}, {}};
  ExactTraffic alone, shared;
  count_exact_traffic(w.steps[0].einsum, c, m, 0, alone);
  count_exact_traffic(w.steps[0].einsum, c, m, 4, shared);
  EXPECT_EQ(alone.holders[2].all.reads, 2);   // B once
  EXPECT_EQ(shared.holders[2].all.reads, 8);  // B again for each m
}

}  // namespace exact_cost_test
}  // namespace orrery
