// Bundled chips and workloads, and what a chip's file asks of mappings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/accelerator/architecture/chip_yaml.h"
#include "orrery/accelerator/cost/evaluate.h"
#include "orrery/accelerator/problem/cascade.h"
#include "orrery/accelerator/search/mapper.h"
#include "tests/refusal.h"

namespace orrery {
namespace bundled_chips_test {

using testing::HasSubstr;

const ComponentLibrary& library() {
  static const ComponentLibrary all{Bundle()};
  return all;
}

Chip bundled(const std::string& name) {
  const auto file = Bundle().find("accelerators/hierarchies/" + name + ".yaml");
  return read_chip(parse_yaml(file->content, file->name), &library());
}

Cascade workload(const std::string& name) {
  const auto file = Bundle().find("accelerators/workloads/" + name + ".yaml");
  return read_cascade(parse_yaml(file->content, file->name));
}

MapperResult best(const Einsum& e, const Chip& chip) {
  MapperOptions options;
  options.valid = 20;
  return make_mapper("random-search")->search(e, chip, chip_constraints(e, chip), options);
}

// Convolutions with strides, dilation, groups and filters for each channel, the products of
// attention, softmax and elementwise work.
TEST(BundledChips, MapEveryWorkload) {
  for (const char* name : {"eyeriss-like", "simba-like", "nvdla-like", "gemmini-like"}) {
    const Chip chip = bundled(name);
    for (const char* w :
         {"resnet50-conv2_3x3", "resnet50-conv1", "resnext50-conv2_3x3", "mobilenetv2-depthwise",
          "deeplabv3-dilated", "bert-base-attention", "gelu", "matmul_1024"}) {
      for (const CascadeStep& step : workload(w).steps) {
        const MapperResult r = best(step.einsum, chip);
        ASSERT_TRUE(r.found()) << name << " " << w << " " << step.einsum.name;
        const Evaluation e = evaluate(chip, step.einsum, r.best);
        EXPECT_EQ(e.operations, step.einsum.points());
        EXPECT_LE(e.utilization, 1);
        EXPECT_GT(e.cost.energy, step.einsum.points() * chip.compute.energy);
      }
    }
  }
}

TEST(BundledChips, MappingsKeepToWhatTheChipHolds) {
  const Chip chip = bundled("simba-like");
  const Einsum conv = workload("resnet50-conv2_3x3").steps[0].einsum;
  const Mapping m = best(conv, chip).best;
  for (const MappingNode& n : m.nodes) {
    const StorageLevel& level = chip.levels[static_cast<std::size_t>(n.level)];
    const auto at = static_cast<std::size_t>(n.index);
    if (n.hold() && level.holds) {
      EXPECT_THAT(*level.holds,
                  testing::Contains(conv.tensors[at].role.empty() ? std::string("output")
                                                                  : conv.tensors[at].role));
    }
    // Along the vectors of a lane run channels and filter taps, which an output does not have.
    if (n.space() && level.name == "AccumulationBuffer" && n.axis == 1) {
      EXPECT_THAT((std::vector<std::string>{"c", "r", "s"}), testing::Contains(conv.dims[at]));
    }
  }
}

// I[g, c, ..] with stride 2 and dilation 3: 2 (4 - 1) + 3 (3 - 1) + 1 = 13 columns are touched.
TEST(BundledChips, StridesAndDilationsReachAsFarAsByHand) {
  const Cascade c = read_cascade(parse_yaml(R"(
name: c
sizes: {g: 2, c: 5, m: 3, p: 4, r: 3}
einsums: ["O[g, m, p] = I[g, c, 2*p + 3*r] * W[g, m, c, r]"]
)",
                                            "c.yaml"));
  const Einsum& e = c.steps[0].einsum;
  EXPECT_EQ(tile_words(e.tensors[1], e.sizes), 2 * 5 * 13);
  EXPECT_EQ(tile_words(e.tensors[2], e.sizes), 2 * 3 * 5 * 3);
  EXPECT_EQ(e.points(), 2 * 5 * 3 * 4 * 3);
}

std::string chip_with(const std::string& level, const std::string& compute = "component: int8") {
  return "name: c\nprocess: 16 nm\nword_bits: 8\nlevels:\n  - {name: A}\n  - {name: B, " + level +
         "}\ncompute: {name: MAC, " + compute + "}\n";
}

std::string refused(const std::string& text) {
  return refusal_of([&] { read_chip(parse_yaml(text, "c.yaml"), &library()); });
}

TEST(ChipYaml, ComponentsHavePublishedEnergies) {
  const Chip c = read_chip(
      parse_yaml(chip_with("component: sram, capacity: 32 KiB, access_bits: 64"), "c.yaml"),
      &library());
  EXPECT_EQ(c.levels[1].energy.read, library().sram(32768, 64, 16).pj);
  EXPECT_EQ(c.levels[1].energy.update, c.levels[1].energy.read);
  EXPECT_EQ(c.compute.energy, library().multiply_add("int8", 16).pj);
  EXPECT_NEAR(c.compute.area, *library().multiply_add("int8", 16).um2 * 1e-6, 1e-18);
}

TEST(ChipYaml, TollsHaveComponents) {
  const Chip c = read_chip(
      parse_yaml(chip_with("kind: toll, component: adc, resolution: 8"), "c.yaml"), &library());
  EXPECT_EQ(c.levels[1].energy.read, library().adc(8, 16).pj);
  EXPECT_THAT(refused(chip_with("kind: toll, component: adc")), HasSubstr("needs its resolution"));
  EXPECT_THAT(refused(chip_with("component: mesh")), HasSubstr("needs 'kind: toll'"));
  EXPECT_THAT(refused(chip_with("component: sram, capacity: 1 KiB, resolution: 8")),
              HasSubstr("belongs to an adc"));
}

TEST(ChipYaml, UnknownComponentsAndRolesAreRefusedWithThePlace) {
  EXPECT_THAT(refused(chip_with("component: HBM9")),
              AllOf(HasSubstr("c.yaml:6"), HasSubstr("no published energy of DRAM 'HBM9'")));
  EXPECT_THAT(refused(chip_with("component: sram")), HasSubstr("needs the capacity"));
  EXPECT_THAT(refused(chip_with("component: sram, capacity: 1 KiB, read_pj: 1")),
              HasSubstr("is given beside a component"));
  EXPECT_THAT(refused(chip_with("holds: [wieght]")), HasSubstr("did you mean 'weight'?"));
  EXPECT_THAT(refused(chip_with("capacity: 1 KiB", "component: int3")),
              HasSubstr("no published energy of a multiply-add in 'int3'"));
  std::string text = chip_with("component: sram, capacity: 1 KiB");
  text.replace(text.find("16 nm"), 5, "16");
  EXPECT_THAT(refused(text), HasSubstr("expected a process node such as '16 nm', got '16'"));
  text.erase(text.find("process"), text.find("word_bits") - text.find("process"));
  EXPECT_THAT(refused(text), HasSubstr("needs the chip's process"));
}

}  // namespace bundled_chips_test
}  // namespace orrery
