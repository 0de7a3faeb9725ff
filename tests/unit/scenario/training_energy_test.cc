// The energy of a training iteration: its parts, and the links of its collectives.
#include "orrery/scenario/training/training_energy.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "orrery/scenario/runner/runner.h"

namespace orrery {
namespace training_energy_test {

Point point_of(const std::string& keys) {
  static Runner runner{Bundle()};
  return runner.run(read_scenario(parse_yaml("{model: llama-3.2-1b, " + keys + "}", "energy.yaml")))
      .points.front();
}

double joules(const Point& p, std::string_view name) {
  const auto row = std::find_if(p.energy.begin(), p.energy.end(),
                                [&](const EnergyRow& r) { return r.name == name; });
  return row == p.energy.end() ? 0 : row->energy.value();
}

double value(const Point& p, std::string_view name) { return p.find(name)->value; }

// Two H100 of a node add up gradients of 4 bytes in one all-reduce an iteration: each sends what
// the ring of two puts on the wire, 2 (n - 1) / n = 1 times the buffer, at 8.1 + 16.5 pJ a bit.
TEST(TrainingEnergy, LinksCarryTheGradientsOnce) {
  const Point p = point_of("hardware: {gpu: h100-sxm}, training: {gpus: 2, zero: 0}");
  const double bits = value(p, "trained_parameters") * 1e6 * 4 * 8;
  EXPECT_NEAR(value(p, "link_energy"), 2 * bits * 24.6e-12, 0.01 * value(p, "link_energy"));
}

// Under ZeRO 3 weights of 2 bytes are gathered before both passes and gradients of 4 are scattered,
// in each of four micro-batches: (2 + 2 + 4) / 2 bytes of each rank in a group of two.
TEST(TrainingEnergy, ShardedWeightsTravelInEveryMicroBatch) {
  const std::string keys =
      "hardware: {gpu: h100-sxm}, training: {gpus: 2, zero: 3, micro_batch: 1,";
  const Point four = point_of(keys + " global_batch: 8}"),
              one = point_of(keys + " global_batch: 2}");
  EXPECT_NEAR(value(four, "link_energy"), 4 * value(one, "link_energy"),
              1e-3 * value(four, "link_energy"));
  const double bits = value(one, "trained_parameters") * 1e6 * 8;
  EXPECT_NEAR(value(one, "link_energy"), 2 * bits * 4 * 24.6e-12, 0.03 * value(one, "link_energy"));
}

// The power of the transceivers is taken out of the rest of the nodes, and nothing is added.
TEST(TrainingEnergy, LinksBetweenNodesArePartOfTheNodes) {
  const std::string training = "training: {gpus: 16, zero: 1}";
  const Point boards = point_of("hardware: {gpu: h100-sxm}, " + training);
  const Point nodes = point_of("hardware: {gpu: h100-sxm}, energy: {scope: node}, " + training);
  EXPECT_EQ(joules(boards, "node_links"), 0);
  EXPECT_GT(joules(boards, "data_collectives"), 0);
  EXPECT_EQ(joules(boards, "tensor_collectives"), 0);
  EXPECT_GT(joules(nodes, "node_links"), 0);
  EXPECT_LT(joules(nodes, "node_links") * 16, value(nodes, "link_energy"));
  EXPECT_GT(joules(nodes, "node_rest"), joules(nodes, "node_links"));
  EXPECT_EQ(joules(nodes, "data_collectives"), joules(boards, "data_collectives"));
}

// xGMI has no stated energy: no figure, and a note that says so. The rows of the boards stay.
TEST(TrainingEnergy, UnknownLinksAreSaid) {
  const Point p = point_of("hardware: {gpu: mi300x}, training: {gpus: 8, zero: 1}");
  EXPECT_EQ(p.find("link_energy"), nullptr);
  EXPECT_GT(joules(p, "data_collectives"), 0);
  EXPECT_TRUE(std::any_of(p.notes.begin(), p.notes.end(), [](const std::string& note) {
    return note.find("no source states that of xgmi-mi300x") != std::string::npos;
  }));
}

// A single GPU has no collectives.
TEST(TrainingEnergy, OneGpuHasNoLinks) {
  const Point p = point_of("hardware: {gpu: h100-sxm}, training: {gpus: 1, zero: 0}");
  EXPECT_EQ(p.find("link_energy"), nullptr);
  EXPECT_EQ(joules(p, "data_collectives"), 0);
  EXPECT_GT(joules(p, "arithmetic"), 0);
}

}  // namespace training_energy_test
}  // namespace orrery
