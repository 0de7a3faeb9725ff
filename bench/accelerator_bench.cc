// Evaluations of mappings: counts, validity, cycles and energy by the convention of Timeloop. Each
// benchmark goes in turn through kMappings valid random mappings, so that no branch predictor could
// learn them; items are evaluations. `search` draws, builds and checks them as well, as the mapper
// random-search does: items are valid mappings.
#include <benchmark/benchmark.h>

#include <filesystem>
#include <vector>

#include "orrery/accelerator/architecture/timeloop_tree.h"
#include "orrery/accelerator/cost/nest_cost.h"
#include "orrery/accelerator/problem/timeloop_problem.h"
#include "orrery/accelerator/search/mapper.h"
#include "orrery/base/node.h"

namespace {

using namespace orrery;

constexpr std::size_t kMappings = 256;

struct Design {
  Chip chip;
  Einsum problem;
  MapspaceConstraints constraints;
};

// A matrix product of 1024 x 1024 x 1024 on a memory, a buffer above 16 x 16 units, and registers.
Design matmul() {
  Design d;
  d.problem = {"matmul",
               {"M", "N", "K"},
               {1024, 1024, 1024},
               {{"A", {{{0}}, {{2}}}}, {"B", {{{2}}, {{1}}}}, {"Z", {{{0}}, {{1}}}, true}}};
  d.chip.levels.resize(3);
  d.chip.levels[0].name = "DRAM";
  d.chip.levels[0].shared_bandwidth = 16;
  d.chip.levels[0].energy = {512, 512, 512, 0};
  d.chip.levels[1].name = "buffer";
  d.chip.levels[1].array = {{"X", 16, {}}, {"Y", 16, {}}};
  d.chip.levels[1].words = 65536;
  d.chip.levels[1].read_bandwidth = d.chip.levels[1].write_bandwidth = 32;
  d.chip.levels[1].energy = {12, 12, 12, 0};
  d.chip.levels[2].name = "registers";
  d.chip.levels[2].words = 64;
  d.chip.levels[2].energy = {0.5, 0.5, 0.5, 0};
  d.chip.compute.name = "mac";
  d.chip.compute.energy = 1;
  d.constraints = unconstrained(d.problem, d.chip);
  return d;
}

// ResNet-50's conv2_3x3 on the row-stationary chip of the scenarios.
Design conv() {
  const std::filesystem::path folder =
      std::filesystem::path(ORRERY_SOURCE_DIR) / "scenarios" / "accelerator";
  Design d;
  const ComponentLibrary library{Bundle()};
  d.chip =
      read_timeloop_architecture(read_document(folder / "eyeriss-like.yaml"), nullptr, &library, "")
          .chip;
  d.problem = read_timeloop_problem(read_document(folder / "resnet50-conv2-3x3.yaml"));
  d.constraints =
      read_timeloop_constraints(read_document(folder / "row-stationary.yaml"), d.problem, d.chip);
  return d;
}

std::vector<Mapping> valid_mappings(const Design& d) {
  std::vector<Mapping> mappings;
  MapperOptions options;
  options.valid = 1;
  while (mappings.size() < kMappings) {
    mappings.push_back(
        make_mapper("random-search")->search(d.problem, d.chip, d.constraints, options).best);
    ++options.seed;
  }
  return mappings;
}

void evaluate_mappings(benchmark::State& state, const Design& d) {
  const std::vector<Mapping> mappings = valid_mappings(d);
  TimeloopCounter counter(d.problem, d.chip);
  NestCounts counts;
  NestCost cost;
  std::size_t next = 0;
  for (auto _ : state) {
    counter.count(mappings[next], counts);
    cost_nest(d.chip, counts, cost);
    benchmark::DoNotOptimize(cost.energy);
    next = (next + 1) % kMappings;
  }
  state.SetItemsProcessed(state.iterations());
}

void search_mappings(benchmark::State& state, const Design& d) {
  MapperOptions options;
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        make_mapper("random-search")->search(d.problem, d.chip, d.constraints, options).score);
    ++options.seed;
  }
  state.SetItemsProcessed(state.iterations() * options.valid);
}

void accelerator_evaluate_matmul(benchmark::State& state) { evaluate_mappings(state, matmul()); }
BENCHMARK(accelerator_evaluate_matmul);

void accelerator_evaluate_conv(benchmark::State& state) { evaluate_mappings(state, conv()); }
BENCHMARK(accelerator_evaluate_conv);

void accelerator_search_matmul(benchmark::State& state) { search_mappings(state, matmul()); }
BENCHMARK(accelerator_search_matmul)->Unit(benchmark::kMillisecond);

void accelerator_search_conv(benchmark::State& state) { search_mappings(state, conv()); }
BENCHMARK(accelerator_search_conv)->Unit(benchmark::kMillisecond);

}  // namespace
