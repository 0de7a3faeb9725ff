// Is the power at the wall and at the meter what the boards, the rest of the server, the supplies
// and the data centre make of it?
#include "orrery/energy/account/plant.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/hardware/catalog.h"
#include "orrery/hardware/cluster.h"
#include "tests/refusal.h"

namespace orrery {
namespace plant_test {

// Boards at their limit draw 0.986 of it, whatever the catalog says.
Bundle with_plant(const std::string& text) {
  return Bundle()
      .replacing("plant", {{"plant/plant.yaml", text}})
      .replacing("power",
                 {{"power/boards.yaml",
                   "recipe: test\nregulated: 0.986\nboards: [{gpu: mine, awake: 0.2}]\n"}});
}

// The rest of each server is half of its boards' limits, both idle and loaded, so that the law is
// half of the limits at any size.
constexpr const char* kPlant = R"(
pue: {value: 1.5, error: 0.1, source: s}
supply_efficiency: {value: 0.8, source: s}
waiting: [{gpu: mine, limit: 1000 W, power: 100 W, source: s}]
servers:
  - {name: a, gpus: 1, limit: 100 W, idle: 75 W, loaded: 185.75 W, source: s}
  - {name: b, gpus: 2, limit: 500 W, idle: 750 W, loaded: 1857.5 W, source: s}
  - {name: c, gpus: 8, limit: 1000 W, idle: 6000 W, loaded: 14860 W, source: s}
)";

Gpu gpu_of(double watts, const char* id = "other") {
  Gpu gpu;
  gpu.id = id;
  gpu.power = Watts(watts);
  return gpu;
}

NodeType node_of_eight() {
  NodeType node;
  node.gpu_count = 8;
  return node;
}

Boards boards(double watts, double run, double wait = 0) {
  return {{Watts(watts), 0.1, 0, Origin::kFitted}, run, wait};
}

TEST(Plant, AddsTheRestOfTheServerAndTheLossOfTheSupplies) {
  const Plant plant(with_plant(kPlant));
  NodeType node = node_of_eight();
  node.power = {Watts(1000), Watts(2000), 0.9};
  // Boards of 1,000 W between waiting, 100 W, and their limit, 986 W: 543 W is half of the way.
  const Estimate<Watts> wall = plant.at_wall(gpu_of(1000, "mine"), node, boards(543, 8));
  EXPECT_NEAR(wall.value.value(), (8 * 543 + 1500) / 0.9, 1e-6);
  EXPECT_EQ(wall.origin, Origin::kFitted);
  // Half of the GPUs draw a half of it.
  EXPECT_NEAR(plant.at_wall(gpu_of(1000, "mine"), node, boards(543, 4)).value.value(),
              (8 * 543 + 1500) / 0.9 / 2, 1e-6);
  // 10 % of 4,344 W and 20 % of 1,500 W, independent of each other.
  EXPECT_NEAR(wall.sigma() * (8 * 543 + 1500), std::hypot(434.4, 300), 1e-6);
}

TEST(Plant, AnIdleServerDrawsItsIdlePower) {
  const Plant plant(with_plant(kPlant));
  NodeType node = node_of_eight();
  node.power = {Watts(1000), Watts(2000), 0.9};
  const Gpu gpu = gpu_of(1000, "mine");
  EXPECT_NEAR(plant.at_wall(gpu, node, boards(0, 0, 8)).value.value(), (800 + 1000) / 0.9, 1e-6);
  // Waiting boards are counted beside running ones: 4 at 986 W, 4 at 100 W, half of the way.
  EXPECT_NEAR(plant.at_wall(gpu, node, boards(986, 4, 4)).value.value(),
              (4 * 986 + 4 * 100 + 1500) / 0.9, 1e-6);
}

TEST(Plant, ServersWithoutReadingsHaveThatOfServersOfTheirSize) {
  const Plant plant(with_plant(kPlant));
  // 8 boards of 400 W: the rest is 1,600 W.
  const Estimate<Watts> wall = plant.at_wall(gpu_of(400), node_of_eight(), boards(40, 8));
  EXPECT_NEAR(wall.value.value(), (320 + 1600) / 0.8, 1);
  EXPECT_EQ(wall.origin, Origin::kTransferred);
  // A rack of 16 hosts of 4 GPUs each is 16 such servers.
  NodeType rack;
  rack.gpu_count = 64, rack.gpus_per_host = 4;
  EXPECT_NEAR(plant.at_wall(gpu_of(400), rack, boards(40, 64)).value.value(),
              16 * (160 + 800) / 0.8, 8);
}

TEST(Plant, TheFacilityMultipliesByThePue) {
  const Plant plant(with_plant(kPlant));
  const Estimate<Watts> wall = {Watts(1000), 0.2, 0, Origin::kMeasured};
  const Estimate<Watts> average = plant.at_facility(wall, {});
  EXPECT_EQ(average.value, Watts(1500));
  EXPECT_NEAR(average.sigma(), std::hypot(0.2, 0.1), 1e-12);
  EXPECT_EQ(plant.at_facility(wall, 1.2).value, Watts(1200));
  EXPECT_EQ(plant.at_facility(wall, 1.2).sigma(), 0.2);
}

// A server that is judged tells nothing of itself: the law of the others does not move with it.
TEST(Plant, LeavesAServerOut) {
  std::string text = kPlant;
  text += "  - {name: d, gpus: 4, limit: 1000 W, idle: 9000 W, loaded: 20000 W, source: s}\n";
  const Plant all(with_plant(text)), without(with_plant(text), "d"), never(with_plant(kPlant));
  const Gpu gpu = gpu_of(1000);
  const auto wall = [&](const Plant& plant) {
    return plant.at_wall(gpu, node_of_eight(), boards(986, 8)).value.value();
  };
  EXPECT_EQ(wall(without), wall(never));
  EXPECT_GT(wall(all), 1.02 * wall(never));
}

TEST(Plant, RefusesWhatItCannotTell) {
  Gpu unknown;
  unknown.id = "mystery";
  EXPECT_THAT(refusal_of<NoData>([&] {
                Plant(with_plant(kPlant)).at_wall(unknown, node_of_eight(), boards(1, 1));
              }),
              testing::HasSubstr("mystery"));
  EXPECT_THAT(refusal_of([&] { Plant(with_plant("pue: {value: 0.9, source: s}\n")); }),
              testing::HasSubstr("pue.value"));
}

// The figures of node files follow from the walls that were measured.
TEST(CatalogPlant, NodeFilesSayWhatTheServersDraw) {
  const Plant plant{Bundle()};
  const Catalog catalog;
  const auto server = [&](std::string_view begin) {
    for (const MeasuredServer& s : plant.servers())
      if (s.name.starts_with(begin)) return s;
    return MeasuredServer();
  };
  const NodePower h100 = catalog.node_type("hgx-h100").power;
  EXPECT_NEAR(h100.idle->value(), plant.rest_idle(server("NVIDIA H200")).value(), 10);
  EXPECT_NEAR(h100.loaded->value(), plant.rest_loaded(server("HGX H100")).value(), 10);
  const NodePower b200 = catalog.node_type("hgx-b200").power;
  EXPECT_NEAR(b200.idle->value(), plant.rest_idle(server("Lenovo SR680a")).value(), 10);
  EXPECT_NEAR(b200.loaded->value(), plant.rest_loaded(server("Lenovo SR680a")).value(), 10);
}

// At the limits of its boards a node draws less than its data sheet's maximum: DGX H100 10.2 kW,
// DGX B200 14.3 kW, DGX A100 6.5 kW (transferred here). A rack of NVL72 is said to draw 120 kW.
TEST(CatalogPlant, NodesStayBelowTheMaximumOfTheirDataSheets) {
  const Plant plant{Bundle()};
  const Catalog catalog;
  const auto wall = [&](const char* gpu, const char* node) {
    const Gpu g = catalog.gpu(gpu);
    const NodeType type = catalog.node_type(node);
    return plant.at_wall(g, type, boards(0.986 * g.power->value(), type.gpu_count)).value.value();
  };
  EXPECT_THAT(wall("h100-sxm", "hgx-h100"), testing::AllOf(testing::Gt(8300), testing::Lt(10200)));
  EXPECT_THAT(wall("b200-sxm", "hgx-b200"), testing::AllOf(testing::Gt(10300), testing::Lt(14300)));
  EXPECT_THAT(wall("a100-40g-sxm", "hgx-a100"),
              testing::AllOf(testing::Gt(4000), testing::Lt(6500)));
  EXPECT_THAT(wall("gb200", "gb200-nvl72"), testing::AllOf(testing::Gt(90e3), testing::Lt(135e3)));
}

}  // namespace plant_test
}  // namespace orrery
