// Mapspaces, constraints and mappers.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "orrery/accelerator/architecture/timeloop_tree.h"
#include "orrery/accelerator/cost/evaluate.h"
#include "orrery/accelerator/mapping/timeloop_mapping.h"
#include "orrery/accelerator/problem/timeloop_problem.h"
#include "orrery/accelerator/search/mapper.h"
#include "orrery/base/error.h"

namespace orrery {
namespace search_test {

constexpr const char* kTree = R"(
architecture:
  version: 0.3
  subtree:
    - name: system
      attributes: {datawidth: 16}
      local:
        - {name: DRAM, class: DRAM, attributes: {width: 64}}
      subtree:
        - name: chip
          local:
            - {name: GLB, class: SRAM, attributes: {depth: 128, width: 64, read_bandwidth: 4}}
          subtree:
            - name: PE[0..15]
              local:
                - {name: RF, class: regfile, attributes: {depth: 24, width: 16, meshX: 4}}
                - {name: mac, class: intmac, attributes: {meshX: 4}}
)";

constexpr const char* kNodes = R"(
architecture:
  version: 0.4
  nodes:
    - !Container {name: system, attributes: {datawidth: 16}}
    - !Component {name: DRAM, class: DRAM, attributes: {width: 64}}
    - !Component {name: GLB, class: SRAM, attributes: {depth: 128, width: 64, read_bandwidth: 4}}
    - !Container {name: PE, spatial: {meshX: 4, meshY: 4}}
    - !Component {name: RF, class: regfile, attributes: {depth: 24, width: 16}}
    - !Component {name: mac, class: intmac}
)";

constexpr const char* kEnergies = R"(
ERT:
  tables:
    - {name: "system.DRAM[1..1]", actions: [{name: read, energy: 100}, {name: write, energy: 100},
       {name: update, energy: 100}]}
    - {name: "system.chip.GLB[1..1]", actions: [{name: read, energy: 6}, {name: write, energy: 6},
       {name: update, energy: 6}]}
    - {name: "system.chip.PE[0..15].RF[1..1]", actions: [{name: read, energy: 1},
       {name: write, energy: 1}, {name: update, energy: 1}]}
    - {name: "system.chip.PE[0..15].mac[1..1]", actions: [{name: compute, energy: 1}]}
)";

constexpr const char* kProblem = R"(
problem:
  shape:
    name: gemm
    dimensions: [M, N, K]
    data_spaces:
      - {name: A, projection: [[[M]], [[K]]]}
      - {name: B, projection: [[[K]], [[N]]]}
      - {name: Z, projection: [[[M]], [[N]]], read_write: true}
  instance: {M: 24, N: 16, K: 36}
)";

Node yaml(const char* text) { return parse_yaml(text, "test.yaml"); }

struct Search : ::testing::Test {
  Einsum problem = read_timeloop_problem(yaml(kProblem));
  Node energies = yaml(kEnergies);
  TimeloopArchitecture architecture =
      read_timeloop_architecture(yaml(kTree), &energies, nullptr, "test");
  const Chip& chip = architecture.chip;
};

TEST_F(Search, TreesAndNodesAreTheSameChip) {
  const TimeloopArchitecture other =
      read_timeloop_architecture(yaml(kNodes), nullptr, nullptr, "test");
  EXPECT_TRUE(architecture.energies);
  EXPECT_EQ(other.without_energy, (std::vector<std::string>{"DRAM", "GLB", "RF", "mac"}));
  ASSERT_EQ(other.chip.levels.size(), 3u);
  for (std::size_t l = 0; l < 3; ++l) {
    EXPECT_EQ(other.chip.levels[l].name, chip.levels[l].name);
    EXPECT_EQ(other.chip.levels[l].words, chip.levels[l].words);
    EXPECT_EQ(other.chip.levels[l].block, chip.levels[l].block);
    EXPECT_EQ(fan_out(other.chip.levels[l]), fan_out(chip.levels[l]));
  }
  EXPECT_EQ(chip.levels[1].array[0].size, 4);
  EXPECT_EQ(chip.levels[1].array[1].size, 4);
  EXPECT_EQ(chip.levels[1].words, 512);
}

TEST_F(Search, EnergiesAreEstimatedWhereTheTechnologyIsKnown) {
  const ComponentLibrary library{Bundle()};
  std::string text = kNodes;
  const auto replace = [&text](const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
  };
  replace("class: DRAM, attributes: {", "class: DRAM, attributes: {type: LPDDR4, ");
  replace("attributes: {datawidth: 16}", "attributes: {datawidth: 16, technology: 45nm}");
  const TimeloopArchitecture a =
      read_timeloop_architecture(yaml(text.c_str()), nullptr, &library, "test");
  // No 16-bit integer multiply-add is published.
  ASSERT_EQ(a.without_energy.size(), 1u);
  EXPECT_EQ(a.without_energy[0].substr(0, 65),
            "mac (no published energy of a multiply-add in 'int16'; known are ");
  EXPECT_NEAR(a.chip.levels[0].energy.read, 64 * 8, 1e-9);
  EXPECT_NEAR(a.chip.levels[2].energy.read, library.registers(16, 24 * 16, 45).pj, 1e-9);
  replace("class: intmac", "class: fpmac");
  const TimeloopArchitecture b =
      read_timeloop_architecture(yaml(text.c_str()), nullptr, &library, "test");
  EXPECT_TRUE(b.energies);
  EXPECT_TRUE(b.estimated);
  EXPECT_NEAR(b.chip.compute.energy, 2.0, 1e-9);
}

TEST_F(Search, DrawnMappingsCoverTheProblem) {
  Mapspace space(problem, chip, unconstrained(problem, chip));
  RandomStream random(7, "test");
  MappingChoice choice;
  Mapping mapping;
  std::set<std::size_t> lengths;
  int built = 0;
  for (int i = 0; i < 500; ++i) {
    space.draw(random, choice);
    if (!space.build(choice, mapping)) continue;
    ++built;
    EXPECT_TRUE(is_even(mapping));
    EXPECT_TRUE(fan_out_violations(chip, mapping).empty());
    std::vector<std::int64_t> sizes(3, 1);
    for (const MappingNode& n : mapping.nodes) {
      if (!n.hold()) sizes[static_cast<std::size_t>(n.index)] *= n.size;
    }
    EXPECT_EQ(sizes, problem.sizes);
    lengths.insert(mapping.nodes.size());
  }
  EXPECT_GT(built, 50);
  EXPECT_GT(lengths.size(), 3u);
}

TEST_F(Search, ConstraintsHold) {
  const Node text = yaml(R"(
targets:
  - {target: RF, type: temporal, factors: M=1 N=1 K<=4, permutation: KMN}
  - {target: GLB, type: spatial, factors: N=4 K=1, permutation: NMK, split: 1}
  - {target: GLB, type: bypass, bypass: [B], keep: [A, Z]}
)");
  Mapspace space(problem, chip, read_timeloop_constraints(text, problem, chip));
  RandomStream random(7, "test");
  MappingChoice choice;
  Mapping mapping;
  int built = 0;
  for (int i = 0; i < 300; ++i) {
    space.draw(random, choice);
    if (!space.build(choice, mapping)) continue;
    ++built;
    for (const MappingNode& n : mapping.nodes) {
      if (n.level == 2 && n.time()) {
        EXPECT_EQ(n.index, 2);
        EXPECT_LE(n.size, 4);
      }
      if (n.level == 1 && n.hold()) {
        EXPECT_NE(n.index, 1);
      }
      if (n.space() && n.axis == 0) {
        EXPECT_EQ(n.index, 1);
        EXPECT_EQ(n.size, 4);
      }
      if (n.space() && n.axis == 1) {
        EXPECT_EQ(n.index, 0);
      }
    }
  }
  EXPECT_GT(built, 20);
}

TEST_F(Search, WrongConstraintsAreRefusedByName) {
  const auto message = [&](const char* text) -> std::string {
    try {
      Mapspace(problem, chip, read_timeloop_constraints(yaml(text), problem, chip));
    } catch (const InputError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_NE(message("[{target: GLBB, type: temporal}]").find("did you mean 'GLB'"),
            std::string::npos);
  EXPECT_NE(message("[{target: GLB, type: utilization}]").find("expected temporal"),
            std::string::npos);
  EXPECT_NE(message("[{target: RF, type: temporal, factors: M=7}]").find("M=7 does not divide 24"),
            std::string::npos);
  EXPECT_NE(message("[{target: RF, type: temporal, permutation: MM}]").find("M stands twice"),
            std::string::npos);
}

TEST_F(Search, MappersAreDeterministicAndTheirBestIsValid) {
  for (const std::string_view name : mapper_names()) {
    MapperOptions options;
    options.valid = 200;
    const auto mapper = make_mapper(std::string(name));
    const MapperResult a = mapper->search(problem, chip, unconstrained(problem, chip), options);
    const MapperResult b = mapper->search(problem, chip, unconstrained(problem, chip), options);
    ASSERT_TRUE(a.found());
    EXPECT_EQ(a.valid, 200);
    EXPECT_EQ(a.best.nodes, b.best.nodes);
    const Evaluation e = evaluate(chip, problem, a.best);
    EXPECT_EQ(score_of(options.objective, e.cost), a.score);
    EXPECT_GE(e.cost.cycles * 16, problem.points());
  }
  EXPECT_THROW(make_mapper("random"), InputError);
}

// Loops in space and tiles that do not fit move outwards, so that hardly a draw is in vain.
TEST_F(Search, DrawsAreMadeToFit) {
  Chip tight = chip;
  tight.levels.back().words = 4;
  MapperOptions options;
  options.valid = 200;
  const MapperResult r =
      make_mapper("random-search")->search(problem, tight, unconstrained(problem, tight), options);
  EXPECT_EQ(r.valid, 200);
  EXPECT_LE(r.tried, 220);
}

TEST_F(Search, MoreMappingsAreNeverWorse) {
  double last = INFINITY;
  for (const std::int64_t valid : {10, 100, 1000}) {
    MapperOptions options;
    options.valid = valid;
    const MapperResult r =
        make_mapper("random-search")->search(problem, chip, unconstrained(problem, chip), options);
    EXPECT_LE(r.score, last);
    last = r.score;
  }
}

TEST_F(Search, AChipThatIsTooSmallSaysWhy) {
  Chip small = chip;
  small.levels[2].words = 2;  // three tensors need a word each
  MapperOptions options;
  options.most_tried = 1000;
  const MapperResult r =
      make_mapper("random-search")->search(problem, small, unconstrained(problem, small), options);
  EXPECT_FALSE(r.found());
  EXPECT_EQ(r.tried, 1000);
  EXPECT_GT(r.failed_capacity[2], 0);
}

TEST_F(Search, InvalidMappingsNameEveryReason) {
  const Mapping mapping = read_timeloop_mapping(
      yaml("[{target: GLB, type: spatial, factors: M=24, permutation: MNK, split: 3},"
           " {target: GLB, type: temporal, factors: N=16 K=36}]"),
      problem, chip);
  try {
    evaluate(chip, problem, mapping);
    FAIL();
  } catch (const Infeasible& e) {
    EXPECT_STREQ(e.what(), "GLB: loops in space take 24 instances along X; the array has 4");
  }
}

TEST_F(Search, TheOutermostMemoryKeepsEveryTensor) {
  const Mapping mapping =
      read_timeloop_mapping(yaml("[{target: DRAM, type: temporal, factors: M=24 N=16 K=36},"
                                 " {target: DRAM, type: bypass, bypass: [B]}]"),
                            problem, chip);
  try {
    evaluate(chip, problem, mapping);
    FAIL();
  } catch (const InputError& e) {
    EXPECT_STREQ(e.what(),
                 "mapping: DRAM does not keep B: the outermost memory keeps every tensor");
  }
}

TEST_F(Search, TheDrawingHasALineForEveryLoopAndMemory) {
  const Mapping mapping = read_timeloop_mapping(
      yaml("[{target: DRAM, type: temporal, factors: M=6 N=16 K=36, permutation: KNM},"
           " {target: GLB, type: spatial, factors: M=4, permutation: MNK, split: 1}]"),
      problem, chip);
  EXPECT_EQ(draw_mapping(chip, problem, mapping, nullptr),
            "DRAM [A B Z]\n"
            "  for M in 6\n"
            "    for N in 16\n"
            "      for K in 36\n"
            "        GLB [A B Z]\n"
            "          parallel M in 4 along X\n"
            "            RF [A B Z]\n"
            "              mac\n");
}

std::string replaced(std::string text, const std::string& old_part, const std::string& part) {
  const std::size_t at = text.find(old_part);
  EXPECT_NE(at, std::string::npos) << old_part;
  return at == std::string::npos ? text : text.replace(at, old_part.size(), part);
}

TEST_F(Search, ProblemsWithoutAnOutputOrWithTwoEqualDimensionsAreRefused) {
  EXPECT_THROW(read_timeloop_problem(yaml(replaced(kProblem, "read_write: true", "").c_str())),
               InputError);
  EXPECT_THROW(read_timeloop_problem(yaml(replaced(kProblem, "[M, N, K]", "[M, N, K, M]").c_str())),
               InputError);
}

TEST_F(Search, ArchitecturesWithoutASizeOrWithTwoEqualNamesAreRefused) {
  const auto read = [](const std::string& text) {
    read_timeloop_architecture(yaml(text.c_str()), nullptr, nullptr, "a");
  };
  read(kNodes);
  EXPECT_THROW(read(replaced(kNodes, "depth: 128", "dept: 128")), InputError);
  EXPECT_THROW(read(replaced(kNodes, "name: RF", "name: GLB")), InputError);
}

TEST_F(Search, ProblemsWithUnknownNamesAreRefused) {
  std::string text = kProblem;
  text.replace(text.find("[[K]], [[N]]"), 12, "[[K]], [[L]]");
  try {
    read_timeloop_problem(yaml(text.c_str()));
    FAIL();
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("expected a dimension (M, N, K), got 'L'"),
              std::string::npos);
  }
}

}  // namespace search_test
}  // namespace orrery
