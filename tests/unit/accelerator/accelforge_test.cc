// Files of AccelForge: templates, tags, expressions, architectures, workloads and mappings.
#include <gtest/gtest.h>

#include "orrery/accelerator/architecture/accelforge_architecture.h"
#include "orrery/accelerator/cost/looptree_cost.h"
#include "orrery/accelerator/mapping/accelforge_mapping.h"
#include "orrery/accelerator/notation/accelforge_expression.h"
#include "orrery/accelerator/notation/accelforge_text.h"
#include "orrery/accelerator/problem/accelforge_workload.h"
#include "tests/refusal.h"

namespace orrery {
namespace accelforge_test {

const std::map<std::string, int> kBits = {{"input", 8}, {"weight", 4}, {"output", 16}};

Node sample(const std::string& name, const TemplateValues& values = {}) {
  return parse_accelforge(
      read_text_file(ORRERY_SOURCE_DIR "/scenarios/accelerator/accelforge/" + name), name, values);
}

double number(const std::string& text) {
  return evaluate_number(parse_yaml("v: " + text, "n.yaml").at("v"), {{{"n", 3}}, {}, {}});
}

TEST(Accelforge, ExpressionsAreArithmetic) {
  EXPECT_EQ(number("1024 * 64 * 8"), 524288);
  EXPECT_EQ(number("1 / (8 * 614e9)"), 1 / (8 * 614e9));
  EXPECT_EQ(number("2 ** 3 - max(1, n) + -1"), 4);
  EXPECT_EQ(number("5 if n > 2 else 6"), 5);
  EXPECT_TRUE(std::isinf(number("inf")));
  EXPECT_EQ(refusal_of([] { number("m + 1"); }),
            "n.yaml:1: v: 'm + 1' after 'm': unknown name 'm' (did you mean 'n'?)");
  EXPECT_EQ(refusal_of([] { number("1 / 0"); }),
            "n.yaml:1: v: '1 / 0' after '1 / 0': a division by zero");
  EXPECT_EQ(refusal_of([] { number("sum(1)"); }),
            "n.yaml:1: v: 'sum(1)' after 'sum(1)': the function sum with 1 arguments is not read");
}

TEST(Accelforge, ExpressionsAreSets) {
  const ExpressionNames names{
      {}, {{"A", {"A"}}, {"B", {"B"}}, {"All", {"A", "B", "C"}}}, {"A", "B", "C"}};
  const auto set = [&](const std::string& text) {
    return evaluate_set(parse_yaml("v: \"" + text + "\"", "s.yaml").at("v"), names);
  };
  EXPECT_EQ(set("A | B"), (NameSet{"A", "B"}));
  EXPECT_EQ(set("~(A | B)"), NameSet{"C"});
  EXPECT_EQ(set("All - A & B"), NameSet{"B"});
  EXPECT_EQ(set("A if len(All) == 3 else B"), NameSet{"A"});
  EXPECT_EQ(refusal_of([&] { set("3"); }), "s.yaml:1: v: '3' after '3': expected a set of tensors");
}

TEST(Accelforge, TemplatesSetNamesAndNothingElse) {
  const std::string text = "{% set N = N | default(64) %}\n{# note #}\na: {{ N }}\nb: [{{N}}, 2]\n";
  EXPECT_EQ(parse_accelforge(text, "t.yaml").at("a").as_int(), 64);
  EXPECT_EQ(parse_accelforge(text, "t.yaml", {{"N", "8"}}).at("b").items()[0].as_int(), 8);
  EXPECT_EQ(refusal_of([] { parse_accelforge("a: 1\n{% for i in range(3) %}\n", "t.yaml"); }),
            "t.yaml:2: the template asks for 'for i in range(3)'; only set, default and names are "
            "read: render the file first");
  EXPECT_EQ(refusal_of([] { parse_accelforge("{% set N = 1 %}\na: {{ M }}\n", "t.yaml"); }),
            "t.yaml:2: the template's 'M' has no value (did you mean 'N'?)");
}

TEST(Accelforge, TagsBecomeKeysAndKeepTheirLines) {
  const Node list =
      parse_accelforge(
          "l:\n- !Memory # note\n  # more\n  name: A\n- !Toll {name: B}\n- !Fork\n  nodes: []\n",
          "t.yaml")
          .at("l");
  EXPECT_EQ(list.items()[0].at("kind").text(), "Memory");
  EXPECT_EQ(list.items()[0].at("name").line(), 4);
  EXPECT_EQ(list.items()[1].at("kind").text(), "Toll");
  EXPECT_EQ(list.items()[2].at("kind").text(), "Fork");
}

TEST(Accelforge, AnArchitectureInUnitsOfOurs) {
  const Chip c = read_accelforge_architecture(sample("two-level.yaml"), kBits, "two");
  ASSERT_EQ(c.levels.size(), 3u);
  EXPECT_FALSE(c.levels[0].words);
  EXPECT_NEAR(*c.levels[0].shared_bandwidth, 400, 1e-9);  // bits a nanosecond
  EXPECT_NEAR(c.levels[0].energy.read, 8, 1e-12);
  EXPECT_EQ(*c.levels[1].words, 262144);
  EXPECT_FALSE(c.levels[1].shared_bandwidth);
  EXPECT_NEAR(*c.levels[1].read_bandwidth, 1600, 1e-9);
  EXPECT_NEAR(*c.levels[1].write_bandwidth, 800, 1e-9);
  EXPECT_NEAR(c.levels[1].energy.leak, 2, 1e-12);  // 2 mW for a nanosecond
  EXPECT_NEAR(c.levels[1].area, 0.2, 1e-12);
  ASSERT_EQ(c.levels[1].array.size(), 2u);
  EXPECT_EQ(c.levels[1].array[0].size, 16);
  EXPECT_EQ(*c.levels[1].array[0].shared, std::vector<std::string>{"input"});
  EXPECT_EQ(*c.levels[2].words, 4);  // of a weight
  EXPECT_NEAR(c.compute.rate, 1, 1e-12);
  EXPECT_NEAR(c.compute.energy, 0.1, 1e-12);
}

Chip architecture(const std::string& nodes) {
  return read_accelforge_architecture(parse_accelforge("arch:\n  nodes:\n" + nodes, "arch.yaml"),
                                      kBits, "a");
}
const std::string kMain =
    "  - !Memory\n    name: Main\n    size: inf\n    component_class: Dummy\n";
const std::string kMac = "  - !Compute {name: MAC, component_class: Dummy}\n";

TEST(Accelforge, ComputeUnitsBesideOthersStandAboveTheirArray) {
  const Chip c = architecture(
      kMain +
      "  - !Compute {name: Scalar, component_class: Dummy}\n"
      "  - !Container {name: P, spatial: [{name: X, fanout: 4}]}\n"
      "  - !Fork\n    nodes:\n    - !Compute {name: Vector, component_class: Dummy}\n" +
      kMac);
  ASSERT_EQ(c.beside.size(), 2u);
  EXPECT_EQ(c.beside[0].level, 0);
  const std::vector<std::int64_t> built = instances(c);
  EXPECT_EQ(built[static_cast<std::size_t>(c.beside[0].level)], 1);
  EXPECT_EQ(built[static_cast<std::size_t>(c.beside[1].level)], 4);
  EXPECT_EQ(built.back(), 4);
  EXPECT_FALSE(c.levels[0].array[0].shared);  // every tensor
}

TEST(Accelforge, WhatIsNotReadIsRefusedByName) {
  const auto refused = [](const std::string& nodes) {
    return refusal_of([&] { architecture(nodes); });
  };
  EXPECT_EQ(refused("  - !Memory {name: M, size: inf, component_class: lpddr4}\n" + kMac),
            "arch.yaml:3: arch.nodes[0]: the action read is missing, and models of components such "
            "as 'lpddr4' are not read: give the value");
  EXPECT_EQ(refused(kMain + "  - !Network {name: N}\n" + kMac),
            "arch.yaml:7: arch.nodes[1].kind: !Network is not counted; leave it out for a free "
            "network");
  EXPECT_EQ(
      refused(kMain +
              "  - !Container {name: C, spatial: [{name: X, fanout: 2, power_gateable: True}]}\n" +
              kMac),
      "arch.yaml:7: arch.nodes[1].spatial[0].power_gateable: power gating is not counted");
  EXPECT_EQ(refused(kMain + "  - !Memroy {name: C}\n" + kMac),
            "arch.yaml:7: arch.nodes[1].kind: unknown tag !Memroy (did you mean 'Memory'?)");
  EXPECT_NE(refused(kMain + "  - !Compute {name: C, sise: 4}\n").find("did you mean 'size'?"),
            std::string::npos);
  EXPECT_EQ(refused(kMain),
            "arch.yaml:2: arch.nodes: expected compute units (!Compute) as the last node");
}

TEST(Accelforge, AWorkloadWithItsRolesAndWhatLivesOn) {
  const Cascade w = read_accelforge_workload(sample("two-matmuls.yaml", {{"M", "32"}}), "w");
  ASSERT_EQ(w.steps.size(), 2u);
  const Einsum& second = w.steps[1].einsum;
  EXPECT_EQ(second.name, "T2");
  EXPECT_EQ(second.dims, (std::vector<std::string>{"m", "n1", "n2"}));
  EXPECT_EQ(second.sizes, (std::vector<std::int64_t>{32, 64, 64}));
  EXPECT_EQ(second.tensors[0].role, "input");
  EXPECT_EQ(second.tensors[1].role, "weight");
  EXPECT_TRUE(second.tensors[2].output);
  EXPECT_EQ(w.persistent, (std::vector<std::string>{"W0", "W1"}));
}

Cascade workload(const std::string& text) {
  return read_accelforge_workload(parse_accelforge("workload:\n" + text, "w.yaml"), "w");
}

TEST(Accelforge, SumsCopiesNamedRanksAndBounds) {
  const Cascade w = workload(
      "  rank_sizes: {C: 4, P: 5}\n"
      "  iteration_space_shape: {r: 0 <= r < 3}\n"
      "  bits_per_value: {Inputs: 8, Outputs: 32}\n"
      "  einsums:\n"
      "  - {name: Y, tensor_accesses: [{name: X, projection: {W: 2 * p + r, C: c}}, {name: F, "
      "projection: [r, c], bits_per_value: 4}, {name: Y, projection: [p], output: True}]}\n"
      "  - \"Z(output)[p] = copy(Y(input)[P:p])\"\n");
  const Einsum& conv = w.steps[0].einsum;
  EXPECT_EQ(conv.sizes, (std::vector<std::int64_t>{5, 3, 4}));
  EXPECT_EQ(tile_words(conv.tensors[0], conv.sizes), (2 * 4 + 1 + 2) * 4);
  EXPECT_EQ(conv.tensors[1].bits, 4);
  EXPECT_EQ(conv.tensors[2].bits, 32);
  EXPECT_TRUE(w.steps[1].copy);
  EXPECT_EQ(w.steps[1].einsum.tensors[0].role, "input");
}

TEST(Accelforge, BadWorkloadsNameThePlace) {
  const auto refused = [](const std::string& text) { return refusal_of([&] { workload(text); }); };
  EXPECT_EQ(refused("  bits_per_value: {All: 8}\n  einsums: ['Z[m] = A[m]']\n"),
            "w.yaml:3: workload.einsums[0]: Z: the variable m has no size: expected rank_sizes of "
            "M, or iteration_space_shape");
  EXPECT_EQ(refused("  rank_sizes: {M: 4}\n  einsums: ['Z[m] = A[m]']\n"),
            "w.yaml:3: workload.einsums[0]: Z: no bits_per_value covers A");
  EXPECT_EQ(refused("  rank_sizes: {M: 4}\n  bits_per_value: {All: 8}\n  densities: {A: 0.5}\n  "
                    "einsums: ['Z[m] = A[m]']\n"),
            "w.yaml:4: workload.densities: unknown key; known are rank_sizes, "
            "iteration_space_shape, einsums, bits_per_value, persistent_tensors, n_instances");
  EXPECT_EQ(refused("  rank_sizes: {M: 4}\n  bits_per_value: {All: 8}\n  einsums: ['Z[m] A[m]']\n"),
            "w.yaml:4: workload.einsums[0]: expected '=' after 'Z[m] ', as in 'Z[m, n] = A[m, k] * "
            "B[k, n]'");
}

constexpr const char* kFusedText = R"([T0,T2,W0,W1 in DRAM]
[W0,W1 in Buffer]
T-m in [0..8) shape=16
[T1 in Buffer]
Split
  [T0 in Buffer]
  T-n0 in [0..4) shape=16
  T-n1 in [0..4) shape=16
  S-X-n1 in [0..16) shape=1
  S-Y-n0 in [0..16) shape=1
  [W0 in Register]
  T-m in [0..16) shape=1
  MAC computes T1
  [T2 in Buffer]
  T-n1 in [0..4) shape=16
  T-n2 in [0..4) shape=16
  S-X-n2 in [0..16) shape=1
  S-Y-n1 in [0..16) shape=1
  [W1 in Register]
  T-m in [0..16) shape=1
  MAC computes T2
)";

TEST(Accelforge, AMappingIsThatOfItsText) {
  const Cascade w = read_accelforge_workload(sample("two-matmuls.yaml"), "w");
  const Chip c = read_accelforge_architecture(sample("two-level.yaml"), kBits, "two");
  const CascadeMapping yaml = read_accelforge_mapping(sample("fused-mapping.yaml"), w, c);
  const CascadeMapping text = read_looptree_text(kFusedText, "m.txt", 1, w, c);
  ASSERT_EQ(yaml.steps.size(), 2u);
  for (std::size_t s = 0; s < 2; ++s) {
    EXPECT_EQ(yaml.steps[s].mapping.nodes, text.steps[s].mapping.nodes);
    EXPECT_EQ(yaml.steps[s].fused, text.steps[s].fused);
  }
  EXPECT_EQ(cost_cascade(c, w, yaml).energy, cost_cascade(c, w, text).energy);
}

TEST(Accelforge, BadMappingsNameTheLine) {
  const Cascade w = read_accelforge_workload(sample("two-matmuls.yaml"), "w");
  const Chip c = read_accelforge_architecture(sample("two-level.yaml"), kBits, "two");
  const auto refused = [&](const std::string& nodes) {
    return refusal_of([&] {
      read_accelforge_mapping(parse_accelforge("mapping:\n  nodes:\n" + nodes, "m.yaml"), w, c);
    });
  };
  EXPECT_EQ(
      refused("  - !Pipeline {nodes: []}\n"),
      "m.yaml:3: mapping.nodes[0].kind: einsums that run at the same time (!Pipeline) are not "
      "counted");
  EXPECT_EQ(refused("  - !Temporal {rank_variable: m, tile_shape: 100}\n"),
            "m.yaml:3: mapping.nodes[0].tile_shape: expected a tile that divides 128 of m");
  EXPECT_EQ(refused("  - !Storage {tensors: [T0], component: DRMA}\n"
                    "  - !Compute {einsum: T1, component: MAC}\n"),
            "m.yaml:3: no memory 'DRMA' (DRAM, Buffer, Register) (did you mean 'DRAM'?)");
  EXPECT_EQ(refused("  - !Storage {tensors: [T0], component: DRAM, size: 4}\n"),
            "m.yaml:3: mapping.nodes[0].size: unknown key; known are kind, tensors, component");
}

}  // namespace accelforge_test
}  // namespace orrery
