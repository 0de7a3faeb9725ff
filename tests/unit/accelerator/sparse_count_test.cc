// Densities and sparse counts worked out by hand.
#include "orrery/accelerator/sparse/sparse_count.h"

#include <gtest/gtest.h>

#include "orrery/accelerator/cost/sparse_cost.h"
#include "orrery/accelerator/sparse/timeloop_sparse.h"

namespace orrery {
namespace sparse_count_test {

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

TEST(Density, OccupanciesSumToOneAndKeepTheMean) {
  for (const auto kind : {Density::Kind::kHypergeometric, Density::Kind::kFixedStructured}) {
    for (const double share : {0.02, 0.3, 0.77, 1.0}) {
      const Density d = density(kind, share, 600);
      for (const double words : {1.0, 7.0, 60.0, 600.0}) {
        double sum = 0, mean = 0;
        for (const Occupancy& o : occupancies(d, {words, 0, 0})) {
          sum += o.probability;
          mean += o.probability * o.nonzeros;
          EXPECT_LE(o.nonzeros, most_nonzeros(d, {words, 0, 0}));
        }
        EXPECT_NEAR(sum, 1, 1e-9);
        EXPECT_NEAR(mean, words * mean_density(d), 1e-6 * words);
      }
    }
  }
}

TEST(Density, ALargerTileIsEmptyLessOften) {
  const Density d = density(Density::Kind::kHypergeometric, 0.1, 1000);
  double before = 1;
  for (const double words : {1.0, 2.0, 10.0, 100.0, 900.0, 901.0}) {
    const double empty = empty_probability(d, words);
    EXPECT_LT(empty, before);
    before = empty;
  }
  EXPECT_EQ(before, 0);
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
    for (StorageLevel& level : chip.levels) level.energy = {3, 5, 7, 0};
    chip.compute.energy = 2;
    for (const int level : {0, 1}) {
      for (const int t : {0, 1, 2}) mapping.nodes.push_back(hold(level, t));
    }
    mapping.nodes.push_back(time_loop(1, 1, 9));
    mapping.nodes.push_back(time_loop(1, 0, 3));
    TimeloopCounter(problem, chip).count(mapping, dense);
    design = read_timeloop_sparse(parse_yaml("densities: {}", "none.yaml"), nullptr, problem, chip);
  }
  void sparse_weights() { design.densities[0] = density(Density::Kind::kFixedStructured, 0.43, 3); }
  void store(std::size_t level, std::size_t tensor, RankFormat format) {
    design.storage[level][tensor].ranks = {{format, {}, 4, 4}};
  }
  SparseCounts counts() const { return sparse_counts(problem, chip, mapping, dense, design); }
  double energy() const {
    NestCost cost;
    cost_sparse(chip, design, counts(), cost);
    return cost.energy;
  }
};

TEST(SparseCount, DenseTensorsAreCountedAndCostAsBefore) {
  Convolution c;
  c.design.actions = {{SparseAction::Kind::kSkip, 1, {{1, {0}}}}};
  c.store(1, 0, RankFormat::kRunLength);
  const SparseCounts s = c.counts();
  for (const std::size_t l : {0u, 1u}) {
    for (const std::size_t t : {0u, 1u, 2u}) {
      EXPECT_EQ(s.levels[l][t].reads.random, c.dense.levels[l].tensors[t].reads);
      EXPECT_EQ(s.levels[l][t].fills.random, c.dense.levels[l].tensors[t].fills);
      EXPECT_EQ(s.levels[l][t].updates.random, c.dense.levels[l].tensors[t].updates);
    }
  }
  EXPECT_EQ(s.occupied.steps, c.dense.steps);
  EXPECT_EQ(s.computes.random, 27);
  NestCost dense;
  cost_nest(c.chip, c.dense, dense);
  EXPECT_EQ(c.energy(), dense.energy);
}

// The counts and energies of the published exercise 03.2.1 of Sparseloop, conv1d.
TEST(SparseCount, SkippingLeavesOutWhatTheZerosOfItsConditionNeed) {
  Convolution c;
  c.sparse_weights();
  c.store(0, 0, RankFormat::kRunLength);
  c.store(1, 0, RankFormat::kRunLength);
  c.design.actions = {{SparseAction::Kind::kSkip, 1, {{1, {0}}}},
                      {SparseAction::Kind::kSkip, 1, {{2, {0}}}}};
  const SparseCounts s = c.counts();
  EXPECT_EQ(s.levels[1][1].reads.random, 12);  // 27 - floor(27 * 0.57)
  EXPECT_EQ(s.levels[1][1].reads.skipped, 15);
  EXPECT_EQ(s.levels[1][2].reads.random, 7);  // 18 - ceil(18 * 0.57)
  EXPECT_EQ(s.levels[0][0].reads.random, 2);  // 3 - floor(3 * 0.57)
  EXPECT_EQ(s.levels[0][0].reads.skipped, 0);
  EXPECT_EQ(s.levels[0][0].tile, 2);
  EXPECT_EQ(s.levels[0][0].metadata_reads.random, 8);  // ceil(1.29) runs of 4 bits
  EXPECT_EQ(s.computes.random, 12);
  EXPECT_EQ(s.occupied.steps, 12);
}

TEST(SparseCount, BlocksOfACompressedTileAreReadByTheLawOfItsNonzeros) {
  Convolution c;
  c.sparse_weights();
  c.store(0, 0, RankFormat::kRunLength);
  c.chip.levels[0].block = 4;
  // 1 or 2 of 3 words always take one block of 4; the mean of 1.29 words would take 0.3225.
  EXPECT_NEAR(c.counts().levels[0][0].blocking, 1 / 0.3225, 1e-12);
}

TEST(SparseCount, AGatedAccessTakesItsPlaceAndNoEnergy) {
  Convolution c;
  c.sparse_weights();
  c.design.actions = {{SparseAction::Kind::kGate, 1, {{1, {0}}}}};
  const SparseCounts s = c.counts();
  EXPECT_EQ(s.levels[1][1].reads.gated, 15);
  EXPECT_EQ(s.occupied.levels[1].tensors[1].reads, 27);
  NestCost cost;
  cost_sparse(c.chip, c.design, s, cost);
  EXPECT_EQ(cost.levels[1].tensor_energy[1], 12 * 3 + 11 * 5);
}

TEST(SparseCount, TheBetterOfTwoOptionsIsTaken) {
  Convolution c;
  c.sparse_weights();
  c.design.densities[1] = density(Density::Kind::kFixedStructured, 0.9, 11);
  c.design.actions = {{SparseAction::Kind::kSkip, 1, {{0, {1}}, {1, {0}}}}};
  const SparseCounts s = c.counts();
  EXPECT_EQ(s.levels[1][0].reads.skipped, 0);
  EXPECT_EQ(s.levels[1][1].reads.skipped, 15);
}

TEST(SparseCount, WhatAMemorySkipsNeverReachesTheMemoriesInside) {
  Convolution c;
  c.design.densities[0] = density(Density::Kind::kFixedStructured, 0, 3);
  c.design.actions = {{SparseAction::Kind::kSkip, 0, {{1, {0}}}}};
  const SparseCounts s = c.counts();
  EXPECT_EQ(s.levels[0][1].reads.skipped, 11);
  EXPECT_EQ(s.levels[1][1].fills.random, 0);
  EXPECT_EQ(s.levels[1][1].reads.random, 0);
}

TEST(SparseCount, GatedComputeTakesItsStepsAndSkippedComputeDoesNot) {
  Convolution c;
  c.sparse_weights();
  c.design.gate_compute = true;
  EXPECT_EQ(c.counts().computes.random, 12);
  EXPECT_EQ(c.counts().occupied.steps, 27);
  c.design.gate_compute = false;
  c.design.skip_compute = true;
  EXPECT_EQ(c.counts().occupied.steps, 27);  // a zero that is stored is there
  c.store(1, 0, RankFormat::kCoordinates);
  EXPECT_EQ(c.counts().occupied.steps, 12);
}

TEST(SparseCount, MadeGatedAndSkippedSumToTheDenseCount) {
  for (const auto kind : {SparseAction::Kind::kGate, SparseAction::Kind::kSkip}) {
    for (const double share : {0.0, 0.11, 0.5, 0.97}) {
      Convolution c;
      c.design.densities[0] = density(Density::Kind::kHypergeometric, share, 3);
      c.design.actions = {{kind, 1, {{1, {0}}}}};
      const SparseAccesses& reads = c.counts().levels[1][1].reads;
      EXPECT_EQ(reads.random + reads.gated + reads.skipped, 27);
    }
  }
}

TEST(SparseCount, CountsAndEnergyNeverFallWhenTheDensityGrows) {
  double before = 0, energy = 0;
  for (const double share : {0.1, 0.3, 0.5, 0.8, 1.0}) {
    Convolution c;
    c.design.densities[0] = density(Density::Kind::kHypergeometric, share, 3);
    c.design.actions = {{SparseAction::Kind::kSkip, 0, {{1, {0}}}},
                        {SparseAction::Kind::kSkip, 1, {{1, {0}}}}};
    const SparseCounts s = c.counts();
    const double reads = s.levels[1][1].reads.random + s.computes.random;
    EXPECT_GE(reads, before);
    EXPECT_GE(c.energy(), energy);
    before = reads;
    energy = c.energy();
  }
}

TEST(SparseCount, SkippingIsNeverSlowerThanGating) {
  for (const double share : {0.1, 0.4, 0.9}) {
    double cycles[2] = {0, 0};
    for (const auto kind : {SparseAction::Kind::kGate, SparseAction::Kind::kSkip}) {
      Convolution c;
      c.chip.levels[1].read_bandwidth = 1;
      c.design.densities[0] = density(Density::Kind::kFixedStructured, share, 3);
      c.design.actions = {{kind, 1, {{1, {0}}}}};
      NestCost cost;
      cost_sparse(c.chip, c.design, c.counts(), cost);
      cycles[kind == SparseAction::Kind::kSkip ? 1 : 0] = cost.cycles;
    }
    EXPECT_LE(cycles[1], cycles[0]);
  }
}

TEST(SparseCount, MetadataThatDoesNotFitIsNamed) {
  Convolution c;
  c.chip.levels[0].name = "Backing";
  c.sparse_weights();
  c.store(0, 0, RankFormat::kBitmask);
  c.design.metadata[0].bits = 8;
  const std::vector<std::string> reasons = metadata_violations(c.chip, c.design, c.counts());
  ASSERT_EQ(reasons.size(), 1u);
  EXPECT_EQ(reasons[0], "Backing: metadata takes 12 bits; an instance has 8");
}

TEST(SparseReader, AnUnknownKeyIsRefusedWithTheNearestName) {
  const Convolution c;
  const Node root = parse_yaml("targets: [{name: X, action_optimisation: []}]", "design.yaml");
  try {
    (void)read_timeloop_sparse(parse_yaml("S: 3", "p.yaml"), &root, c.problem, c.chip);
    FAIL();
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("action_optimization"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("design.yaml:1"), std::string::npos) << e.what();
  }
}

TEST(SparseReader, ADesignIsReadWithEitherSpelling) {
  Convolution c;
  c.chip.levels[0].name = "Backing";
  c.chip.levels[1].name = "Buffer";
  c.chip.compute.name = "mac";
  const Node instance =
      parse_yaml("densities: {W: {distribution: hypergeometric, density: 0.5}, I: 0.25}", "p.yaml");
  const Node root = parse_yaml(R"(
targets:
  - name: Buffer
    representation-format:
      data-spaces: [{name: W, ranks: [{format: UOP}, {format: CP, metadata-word-bits: 3}]}]
    action-optimization:
      - {type: skipping, target: I, condition-on: [W]}
  - {name: mac, compute-optimization: [{type: gating}]}
)",
                               "design.yaml");
  const SparseDesign d = read_timeloop_sparse(instance, &root, c.problem, c.chip);
  EXPECT_EQ(d.densities[0].kind, Density::Kind::kHypergeometric);
  EXPECT_EQ(d.densities[0].tensor_words, 3);
  EXPECT_EQ(d.densities[1].kind, Density::Kind::kFixedStructured);
  ASSERT_EQ(d.storage[1][0].ranks.size(), 2u);
  EXPECT_EQ(d.storage[1][0].ranks[0].format, RankFormat::kCoordinates);  // innermost first
  EXPECT_EQ(d.storage[1][0].ranks[0].metadata_bits, 3);
  ASSERT_EQ(d.actions.size(), 1u);
  EXPECT_EQ(d.actions[0].options[0].conditions, std::vector<int>{0});
  EXPECT_TRUE(d.gate_compute);
}

}  // namespace sparse_count_test
}  // namespace orrery
