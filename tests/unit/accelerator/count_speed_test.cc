// The short ways of the counting code: they allocate nothing, and equal the long way.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "orrery/accelerator/cost/nest_cost.h"
#include "orrery/accelerator/search/mapper.h"

namespace {
std::size_t allocations = 0;  // NOLINT: counted by operator new below
}

void* operator new(std::size_t size) {
  ++allocations;
  if (void* p = std::malloc(size == 0 ? 1 : size)) return p;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size == 0 ? 1 : size);
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace orrery {
namespace count_speed_test {

Chip three_levels() {
  Chip c;
  c.levels.resize(3);
  c.levels[0].name = "DRAM", c.levels[1].name = "buffer", c.levels[2].name = "registers";
  c.levels[1].array = {{"X", 4, {}}, {"Y", 6, {}}};
  c.levels[1].words = 4096;
  c.levels[1].read_bandwidth = 8;
  c.levels[2].words = 64;
  for (StorageLevel& level : c.levels) level.energy = {3, 2, 1, 0.1};
  c.compute.energy = 1;
  return c;
}

Einsum matmul() {
  return {"matmul",
          {"M", "N", "K"},
          {96, 64, 72},
          {{"A", {{{0}}, {{2}}}}, {"B", {{{2}}, {{1}}}}, {"Z", {{{0}}, {{1}}}, true}}};
}

// I[c, p + r] * W[c, m, r] with a stride of 2: sums make links and halos.
Einsum conv() {
  return {"conv",
          {"C", "M", "P", "R"},
          {8, 12, 24, 3},
          {{"I", {{{0}}, {{2, 2}, {3, 1}}}},
           {"W", {{{0}}, {{1}}, {{3}}}},
           {"O", {{{1}}, {{2}}}, true}}};
}

std::vector<Mapping> valid_mappings(const Einsum& problem, const Chip& chip, std::size_t n) {
  std::vector<Mapping> out;
  MapperOptions options;
  options.valid = 1;
  for (; out.size() < n; ++options.seed) {
    const MapperResult r =
        make_mapper("random-search")->search(problem, chip, unconstrained(problem, chip), options);
    EXPECT_TRUE(r.found());
    out.push_back(r.best);
  }
  return out;
}

TEST(CountSpeed, AnEvaluationAllocatesNothingOnceItsStorageIsThere) {
  const Chip chip = three_levels();
  for (const Einsum& problem : {matmul(), conv()}) {
    const std::vector<Mapping> mappings = valid_mappings(problem, chip, 64);
    TimeloopCounter counter(problem, chip);
    NestCounts counts;
    NestCost cost;
    std::size_t before = 0;
    for (int round = 0; round < 2; ++round) {
      before = allocations;
      for (const Mapping& m : mappings) {
        counter.count(m, counts);
        cost_nest(chip, counts, cost);
      }
    }
    EXPECT_EQ(allocations - before, 0u) << problem.name;
    EXPECT_GT(cost.energy, 0);
  }
}

double words(const TensorCounts& t) {
  double n = 0;
  for (const Delivery& d : t.deliveries) n += d.accesses * real(d.multicast);
  return n;
}

// Energies of hops make the counter place every instance and look at every event.
TEST(CountSpeed, TensorsOfPlainRanksAreCountedAsByEveryEvent) {
  const Chip chip = three_levels();
  Chip with_hops = chip;
  for (StorageLevel& level : with_hops.levels) level.hop_energy = 1;
  for (const Einsum& problem : {matmul(), conv()}) {
    NestCounts plain, walked;
    for (const Mapping& m : valid_mappings(problem, chip, 300)) {
      TimeloopCounter(problem, chip).count(m, plain);
      TimeloopCounter(problem, with_hops).count(m, walked);
      for (std::size_t l = 0; l < chip.levels.size(); ++l) {
        for (std::size_t t = 0; t < problem.tensors.size(); ++t) {
          const TensorCounts& a = plain.levels[l].tensors[t];
          const TensorCounts& b = walked.levels[l].tensors[t];
          EXPECT_EQ(a.reads, b.reads) << problem.name << " level " << l << " tensor " << t;
          EXPECT_EQ(a.fills, b.fills);
          EXPECT_EQ(a.updates, b.updates);
          EXPECT_EQ(a.link_transfers, b.link_transfers);
          EXPECT_EQ(words(a), words(b));
          EXPECT_EQ(a.deliveries.size(), b.deliveries.size());
        }
      }
    }
  }
}

}  // namespace count_speed_test
}  // namespace orrery
