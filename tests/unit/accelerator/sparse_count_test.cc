// Densities and sparse counts worked out by hand.
#include "orrery/accelerator/sparse/sparse_count.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

Density density(Density::Kind kind, double share, double words) {
  Density d;
  d.kind = kind;
  d.density = share;
  d.tensor_words = words;
  return d;
}

TEST(Density, AHypergeometricTileIsEmptyByTheDrawsWithoutReturn) {
  // 2 of 6 non-zero: a tile of 2 is empty with (4 * 3) / (6 * 5), one of 5 never.
  const Density d = density(Density::Kind::kHypergeometric, 1.0 / 3, 6);
  EXPECT_NEAR(empty_probability(d, 1), 4.0 / 6, 1e-12);
  EXPECT_NEAR(empty_probability(d, 2), 12.0 / 30, 1e-12);
  EXPECT_EQ(empty_probability(d, 5), 0);
}

TEST(Density, AStructuredTileOfTheWholePatternIsNeverEmpty) {
  const Density d = density(Density::Kind::kFixedStructured, 0.5, 64);  // 2:4
  EXPECT_EQ(empty_probability(d, 1), 0.5);
  EXPECT_EQ(empty_probability(d, 4), 0);
}

TEST(Density, ABandOfOneBesideTheDiagonal) {
  Density d = density(Density::Kind::kBanded, 1, 16);
  d.half_width = 1;
  // A 4 x 4 matrix: 4 + 2 * 3 elements in the band; of the four 2 x 2 tiles all touch it.
  EXPECT_NEAR(mean_density(d), 10.0 / 16, 1e-12);
  EXPECT_NEAR(empty_probability(d, 4), 0, 1e-12);
  d.half_width = 0;
  EXPECT_NEAR(empty_probability(d, 4), 0.5, 1e-12);
}

TEST(Density, AMeasuredShareHoldsUpToTheNextSize) {
  Density d = density(Density::Kind::kMeasured, 0.25, 64);
  d.measured = {{1, {0.75, 0.25}}, {8, {0.125, 0.25}}};
  EXPECT_EQ(empty_probability(d, 4), 0.75);
  EXPECT_EQ(empty_probability(d, 8), 0.125);
}

// O[q] += W[s] * I[s + q] with S = 3 and Q = 9, all in a buffer below a memory.
struct Convolution {
  Einsum problem;
  Chip chip;
  Mapping mapping;
  NestCounts dense;
  SparseDesign design;
  Convolution() {
    problem.dims = {"S", "Q"};
    problem.sizes = {3, 9};
    problem.tensors = {{"W", {{{0, 1}}}, false, 8},
                       {"I", {{{0, 1}, {1, 1}}}, false, 8},
                       {"O", {{{1, 1}}}, true, 8}};
    chip.levels.resize(2);
    for (const int level : {0, 1}) {
      for (const int t : {0, 1, 2}) mapping.nodes.push_back(hold(level, t));
    }
    mapping.nodes.push_back(time_loop(1, 1, 9));
    mapping.nodes.push_back(time_loop(1, 0, 3));
    TimeloopCounter(problem, chip).count(mapping, dense);
    design.densities.resize(3);
    design.compressed.assign(2, std::vector<bool>(3));
  }
  void sparse_weights() { design.densities[0] = density(Density::Kind::kFixedStructured, 0.43, 3); }
  SparseCounts counts() const { return sparse_counts(problem, mapping, dense, design); }
};

TEST(SparseCount, DenseTensorsAreCountedAsBefore) {
  Convolution c;
  c.design.actions = {{SparseAction::Kind::kSkip, 1, 1, {0}}};
  c.design.compressed[1][0] = true;
  const SparseCounts s = c.counts();
  for (const std::size_t l : {0u, 1u}) {
    for (const std::size_t t : {0u, 1u, 2u}) {
      EXPECT_EQ(s.made.levels[l].tensors[t].reads, c.dense.levels[l].tensors[t].reads);
      EXPECT_EQ(s.made.levels[l].tensors[t].fills, c.dense.levels[l].tensors[t].fills);
      EXPECT_EQ(s.made.levels[l].tensors[t].updates, c.dense.levels[l].tensors[t].updates);
    }
  }
  EXPECT_EQ(s.made.steps, c.dense.steps);
  EXPECT_EQ(s.computes.random, 27);
}

TEST(SparseCount, SkippingLeavesOutWhatTheZerosOfItsConditionNeed) {
  Convolution c;
  c.sparse_weights();
  c.design.compressed[0][0] = c.design.compressed[1][0] = true;
  c.design.actions = {{SparseAction::Kind::kSkip, 1, 1, {0}},
                      {SparseAction::Kind::kSkip, 1, 2, {0}}};
  const SparseCounts s = c.counts();
  EXPECT_EQ(s.levels[1][1].reads.random, 12);  // 27 - floor(27 * 0.57)
  EXPECT_EQ(s.levels[1][1].reads.skipped, 15);
  EXPECT_EQ(s.levels[1][2].reads.random, 7);  // floor(18 * 0.43)
  EXPECT_EQ(s.levels[0][0].reads.random, 2);  // 3 - floor(3 * 0.57)
  EXPECT_EQ(s.levels[0][0].reads.skipped, 0);
  EXPECT_EQ(s.levels[0][0].tile, 2);
  EXPECT_EQ(s.computes.random, 12);
  EXPECT_EQ(s.made.steps, 12);
}

TEST(SparseCount, AGatedAccessTakesItsPlaceAndNoEnergy) {
  Convolution c;
  c.sparse_weights();
  c.design.actions = {{SparseAction::Kind::kGate, 1, 1, {0}}};
  const SparseCounts s = c.counts();
  EXPECT_EQ(s.levels[1][1].reads.gated, 15);
  EXPECT_EQ(s.occupied.levels[1].tensors[1].reads, 27);
  EXPECT_EQ(s.made.levels[1].tensors[1].reads, 12);
}

TEST(SparseCount, GatedComputeTakesItsStepsAndSkippedComputeDoesNot) {
  Convolution c;
  c.sparse_weights();
  c.design.actions = {{SparseAction::Kind::kGate, 2, 0, {0}}};
  EXPECT_EQ(c.counts().computes.random, 12);
  EXPECT_EQ(c.counts().made.steps, 27);
  c.design.actions[0].kind = SparseAction::Kind::kSkip;
  EXPECT_EQ(c.counts().made.steps, 12);
}

TEST(SparseCount, CountsNeverFallWhenTheDensityGrows) {
  double before = 0;
  for (const double share : {0.1, 0.3, 0.5, 0.8, 1.0}) {
    Convolution c;
    c.design.densities[0] = density(Density::Kind::kHypergeometric, share, 3);
    c.design.actions = {{SparseAction::Kind::kSkip, 0, 1, {0}},
                        {SparseAction::Kind::kSkip, 1, 1, {0}}};
    const SparseCounts s = c.counts();
    const double reads = s.levels[1][1].reads.random + s.computes.random;
    EXPECT_GE(reads, before);
    before = reads;
  }
}

}  // namespace
}  // namespace orrery
