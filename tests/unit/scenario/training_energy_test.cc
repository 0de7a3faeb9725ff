// The energy of a training iteration: its parts, and the links of its collectives.
#include "orrery/scenario/kinds/training/training_energy.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "orrery/kinds/all_kinds.h"
#include "orrery/scenario/runner/runner.h"

namespace orrery {
namespace training_energy_test {

Point point_of(const std::string& keys) {
  static Runner runner{Bundle()};
  return runner
      .run(read_scenario(all_kinds(),
                         parse_yaml("{model: llama-3.2-1b, " + keys + "}", "energy.yaml")))
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

// A run of 64 GPUs for some days.
Point run_of(const std::string& keys) {
  return point_of("hardware: {gpu: h100-sxm}, training: {gpus: 64, zero: 3, tokens: 1e12}" + keys);
}
// The mean power of a board over the run.
double mean_power(const Point& p) { return value(p, "energy") * 1e6 / value(p, "gpu_hours"); }

// Hours in which a checkpoint is written cost what a board draws awake, and not what an iteration
// costs: without failures their number is exact.
TEST(TrainingEnergy, HoursOfCheckpointsCostAnAwakeBoard) {
  const auto ask = [](const std::string& write) {
    return run_of(
        ", chance: {failures_per_gpu_day: 0, checkpoint_interval: 1h, checkpoint_write: " + write +
        "}");
  };
  const Point none = ask("0s"), often = ask("10min"), more = ask("20min");
  EXPECT_NEAR(mean_power(none), value(none, "power"), 1e-6 * value(none, "power"));
  const double watts = (value(often, "energy") - value(none, "energy")) * 1e6 /
                       (value(often, "gpu_hours") - value(none, "gpu_hours"));
  EXPECT_NEAR(watts, 0.2 * 700, 15);  // the share of an H100's limit in catalog/power/steps.yaml
  EXPECT_LT(watts, 0.4 * value(none, "power"));
  EXPECT_NEAR(value(more, "energy") - value(often, "energy"),
              value(often, "energy") - value(none, "energy"), 1e-3 * value(none, "energy"));
}

// Work that is lost is done again at the power of an iteration; the wait for a restart is not.
TEST(TrainingEnergy, LostWorkCostsAnIterationAndARestartAWait) {
  const auto ask = [](const std::string& restart, const std::string& more = "") {
    return run_of(
        ", chance: {failures_per_gpu_day: 0.05, checkpoint_interval: 4h, checkpoint_write: 0s, "
        "restart: " +
        restart + "}" + more);
  };
  const Point again = ask("0s"), waits = ask("1h"), longer = ask("2h");
  EXPECT_LT(value(again, "goodput"), 85);
  EXPECT_NEAR(mean_power(again), value(again, "power"), 1e-6 * value(again, "power"));
  EXPECT_LT(mean_power(waits), 0.97 * mean_power(again));
  EXPECT_LT(mean_power(longer), mean_power(waits));
  EXPECT_GT(mean_power(longer), 0.2 * 700);
  EXPECT_GT(value(longer, "energy"), value(waits, "energy"));
  EXPECT_GT(value(waits, "energy"), value(again, "energy"));
  // Emissions follow the energy of the facility: an hour of the run emits less than one of work,
  // and more than its boards' part, because hosts and cooling do not wait as boards do.
  const Point plant = ask("1h", ", energy: {scope: facility, carbon: '400'}");
  const double hour = value(plant, "carbon") * 1e3 / value(plant, "time_to_train");
  EXPECT_LT(hour, value(plant, "carbon_per_hour"));
  EXPECT_GT(hour, value(plant, "carbon_per_hour") * mean_power(waits) / value(waits, "power"));
  EXPECT_NEAR(value(plant, "carbon"), value(plant, "energy") * 1e3 * 0.4,
              1e-6 * value(plant, "carbon"));
}

// Owned GPUs pay for what the run draws.
TEST(TrainingEnergy, OwnedGpusPayLessForHoursOfWaiting) {
  const auto ask = [](const std::string& restart) {
    return run_of(
        ", cost: {tier: owned}, chance: "
        "{failures_per_gpu_day: 0.05, checkpoint_interval: 4h, checkpoint_write: 0s, "
        "restart: " +
        restart + "}");
  };
  const Point again = ask("0s"), waits = ask("2h");
  const auto of_hour = [](const Point& p) { return value(p, "cost") / value(p, "time_to_train"); };
  EXPECT_NEAR(of_hour(again), value(again, "cost_per_hour"), 1e-6 * of_hour(again));
  EXPECT_LT(of_hour(waits), value(waits, "cost_per_hour"));
}

}  // namespace training_energy_test
}  // namespace orrery
