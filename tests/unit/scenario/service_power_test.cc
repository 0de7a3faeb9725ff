// Does a simulated service draw what its busy and its idle time cost?
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "orrery/energy/power/step_power.h"
#include "orrery/kinds/all_kinds.h"
#include "orrery/scenario/kinds/service/service_detail.h"
#include "orrery/scenario/runner/runner.h"
#include "tests/refusal.h"

namespace orrery {
namespace service_power_test {

Point point_of(const std::string& load, const std::string& more = "") {
  static Runner runner{Bundle()};
  RunOptions options;
  options.steps = true;
  options.intervals = false;
  return runner
      .run(read_scenario(all_kinds(),
                         parse_yaml("{model: llama-3.1-8b, hardware: {gpu: h100-sxm}, load: {" +
                                        load + ", isl: 512, osl: 128, arrivals: even}" + more + "}",
                                    "test")),
           options)
      .points.front();
}

std::map<std::string, double> answer_of(const std::string& load, const std::string& more = "") {
  std::map<std::string, double> metrics;
  for (const Metric& m : point_of(load, more).metrics) metrics[m.name] = m.value;
  return metrics;
}

Joules sum_of(const PowerSeries& series) {
  Joules sum;
  for (std::size_t i = 0; i < series.power.size(); ++i)
    sum += series.power[i] *
           std::min(series.window, series.end - series.window * static_cast<double>(i));
  return sum;
}

TEST(ServicePower, AServiceThatWaitsDrawsNearlyTheAwakeBoard) {
  const auto rare = answer_of("requests: 20, rate: 0.01");
  const StepPowerConstants constants = read_step_power(Bundle());
  const double awake = 700 * constants.board("h100-sxm").awake;
  EXPECT_GT(rare.at("power"), awake);
  EXPECT_LT(rare.at("power"), 1.05 * awake);
}

TEST(ServicePower, ATokenCostsLessInABusyService) {
  const auto rare = answer_of("requests: 100, rate: 0.2"),
             often = answer_of("requests: 400, rate: 20");
  EXPECT_GT(often.at("power"), rare.at("power"));
  EXPECT_LT(often.at("energy_per_token"), 0.2 * rare.at("energy_per_token"));
  EXPECT_LT(often.at("power"), 700);
}

TEST(ServicePower, TheEnergyIsThatOfItsRequests) {
  const auto m = answer_of("requests: 100, rate: 2");
  EXPECT_NEAR(m.at("energy") * 1e3, m.at("energy_per_request") * 100, 1e-6 * m.at("energy") * 1e3);
  EXPECT_NEAR(m.at("energy_per_request"), m.at("energy_per_token") * 128,
              1e-6 * m.at("energy_per_request"));
}

// Two engines, of which an autoscaler starts one: the power over time makes up the energy, in every
// scope, and its mean lies below its peak.
TEST(ServicePower, ThePowerOverTimeMakesUpTheEnergy) {
  for (const char* scope : {"gpu", "node", "facility"}) {
    const Point p = point_of("requests: 300, rate: 20",
                             ", autoscale: {policy: outstanding, target: 8, most: 3, interval: 1s, "
                             "start_up: 2s}, energy: {scope: " +
                                 std::string(scope) + "}");
    const double energy = p.find("energy")->value * 1e3;
    EXPECT_NEAR(sum_of(service_detail(p).power).value(), energy, 1e-9 * energy) << scope;
    EXPECT_NEAR(p.find("plant_power")->value * service_detail(p).power.end.value(), energy,
                1e-9 * energy);
    EXPECT_LE(p.find("plant_power")->value, p.find("plant_power_max")->value);
    EXPECT_LE(p.find("plant_power_p99")->value, p.find("plant_power_max")->value);
    EXPECT_EQ(service_detail(p).power.window, seconds(1));
  }
}

// The parts of the energy of a run: a board is idle for the time in which no step runs, at its
// awake power, and what the scope adds is what the metrics say it adds.
TEST(ServicePower, TheEnergyOfARunIsItemised) {
  const auto joules = [](const Point& p, std::string_view name) {
    const auto row = std::find_if(p.energy.begin(), p.energy.end(),
                                  [&](const EnergyRow& r) { return r.name == name; });
    return row == p.energy.end() ? 0 : row->energy.value();
  };
  const Point p = point_of("requests: 20, rate: 0.5");
  EXPECT_EQ(p.energy_of, "run");
  const double awake = 700 * read_step_power(Bundle()).board("h100-sxm").awake;
  const double idle =
      awake * service_detail(p).power.end.value() * (1 - p.find("busy")->value / 100);
  EXPECT_NEAR(joules(p, "idle"), idle, 0.01 * idle);
  EXPECT_GT(joules(p, "memory"), joules(p, "arithmetic"));  // decode steps of few sequences
  EXPECT_EQ(joules(p, "collectives"), 0);
  EXPECT_EQ(joules(p, "node_rest"), 0);
  const Point two = point_of("requests: 20, rate: 0.5",
                             ", parallel: {tp: 2}, energy: {scope: facility, pue: 1.25}");
  EXPECT_GT(joules(two, "collectives"), 0);
  EXPECT_NEAR(joules(two, "cooling"), 0.2 * two.find("energy")->value * 1e3, 1e-6 * 1e3);
}

// No window draws more than the limits of all boards, nor less than boards that are awake.
TEST(ServicePower, EveryWindowLiesBetweenTheAwakeBoardsAndTheirLimits) {
  const Point p = point_of("requests: 200, rate: 15", ", cluster: {replicas: 2}");
  const double awake = 2 * 700 * read_step_power(Bundle()).board("h100-sxm").awake;
  for (const Watts w : service_detail(p).power.power) {
    EXPECT_GE(w.value(), awake * (1 - 1e-4));
    EXPECT_LE(w.value(), 2 * 700);
  }
}

// The intervals end where all boards that were present draw their limits, and the rest of their
// nodes its most with what is not known of it.
TEST(ServicePower, TheIntervalOfThePlantEndsAtWhatItCanDraw) {
  const std::string load = "requests: 600, rate: 60";
  const Point boards = point_of(load, ", cluster: {replicas: 2}");
  for (const char* name : {"plant_power", "plant_power_p99", "plant_power_max"}) {
    const Metric& m = *boards.find(name);
    EXPECT_LE(m.high90, 2 * 700 + 1e-6) << name;
    EXPECT_GE(m.high90, m.value) << name;
  }
  EXPECT_NEAR(boards.find("plant_power_max")->high90, 2 * 700, 1e-6);
  // Two boards share a quarter of the rest of a node of eight, 2,460 W at most within 20 %.
  const Point node = point_of(load, ", cluster: {replicas: 2}, energy: {scope: node}");
  const double most = (2 * 700 + 2460 / 4.0) / 0.95;
  EXPECT_GT(node.find("plant_power_max")->high90, most);
  EXPECT_LE(node.find("plant_power_max")->high90,
            most * std::exp(1.645 * 0.2 * (2460 / 4.0) / (2 * 700 + 2460 / 4.0)));
  // A limit of the boards ends it sooner.
  const Point capped = point_of(load, ", cluster: {replicas: 2, power_limit: 1000 W}");
  EXPECT_NEAR(capped.find("plant_power_max")->high90, 1000, 1e-6);
}

// Requests that are far apart: each costs what it costs alone, and the time between them the awake
// board.
TEST(ServicePower, TheEnergyOfDisjointLoadsAddsUp) {
  const double awake = 700 * read_step_power(Bundle()).board("h100-sxm").awake;
  const auto above = [&](const Point& p) {
    return p.find("energy")->value * 1e3 - awake * service_detail(p).power.end.value();
  };
  const Point one = point_of("requests: 1, rate: 0.05"), ten = point_of("requests: 10, rate: 0.05");
  EXPECT_NEAR(above(ten), 10 * above(one), 0.01 * above(ten));
}

TEST(ServicePower, WiderScopesDrawMoreAndEmissionsFollowTheEnergy) {
  const std::string load = "requests: 100, rate: 10";
  const auto gpu = answer_of(load, ", energy: {scope: gpu, carbon: 400}");
  const auto node = answer_of(load, ", energy: {scope: node, carbon: 400}");
  const auto facility = answer_of(load, ", energy: {carbon: 400, pue: 1.25, embodied: true}");
  EXPECT_EQ(gpu.at("power"), node.at("power"));
  EXPECT_GT(node.at("energy"), gpu.at("energy"));
  for (const char* name : {"energy", "plant_power_max", "energy_per_token"})
    EXPECT_NEAR(facility.at(name), 1.25 * node.at(name), 1e-9 * facility.at(name));
  EXPECT_NEAR(node.at("carbon_per_request"), node.at("energy_per_request") / 3.6e6 * 400, 1e-9);
  EXPECT_NEAR(node.at("carbon_per_hour"), 0.4 * node.at("plant_power"), 1e-9);
  EXPECT_NEAR(node.at("carbon"), node.at("carbon_per_request") * 100 / 1e3, 1e-9);
  EXPECT_NEAR(node.at("carbon_per_million_output_tokens"),
              node.at("carbon_per_request") / 128 * 1e6, 1e-6);
  EXPECT_NEAR(facility.at("carbon_per_hour"),
              0.4 * facility.at("plant_power") + facility.at("embodied_carbon_per_hour"), 1e-9);
  EXPECT_NEAR(facility.at("embodied_carbon_per_hour"), 164e3 / (6 * 8760), 1e-6);
}

// catalog/prices/owned.yaml: 0.0806 USD for a kWh.
TEST(ServicePower, OwnedGpusPayForTheElectricityOfTheFacility) {
  const std::string load = "requests: 100, rate: 10", owned = ", cost: {tier: owned}";
  const auto node = answer_of(load, ", energy: {scope: node}");
  const double more = answer_of(load, owned + ", energy: {pue: 2}").at("cost_per_hour") -
                      answer_of(load, owned + ", energy: {pue: 1}").at("cost_per_hour");
  EXPECT_NEAR(more, 0.0806 * node.at("plant_power") / 1000, 1e-9);
}

// Two boards under a limit: no window exceeds it, the service takes longer, and one that the boards
// cannot reach changes nothing.
TEST(RackLimit, CapsTheBoardsAtTheirShares) {
  const std::string load = "requests: 600, rate: 60";
  const auto free = point_of(load, ", cluster: {replicas: 2}");
  const auto ample = point_of(load, ", cluster: {replicas: 2, power_limit: 1400 W}");
  const auto tight = point_of(load, ", cluster: {replicas: 2, power_limit: 700 W}");
  const auto value = [](const Point& p, const char* name) { return p.find(name)->value; };
  EXPECT_EQ(value(ample, "tpot"), value(free, "tpot"));
  EXPECT_EQ(value(ample, "energy"), value(free, "energy"));
  ASSERT_GT(value(free, "plant_power_max"), 700);
  EXPECT_LE(value(tight, "plant_power_max"), 700);
  EXPECT_GT(value(tight, "tpot"), value(free, "tpot"));
  EXPECT_LT(value(tight, "clock"), 1980);
}

// The boards get less of the same limit if it counts the nodes at the wall.
TEST(RackLimit, IsOfWhatTheScopeCounts) {
  const Point p = point_of("requests: 600, rate: 60",
                           ", cluster: {replicas: 2, power_limit: 1500 W}, energy: {scope: node}");
  EXPECT_LE(p.find("plant_power_max")->value, 1500);
  EXPECT_LT(p.find("power")->value, 700);
  EXPECT_NE(p.find("clock"), nullptr);
}

TEST(RackLimit, RefusesLessThanTheBoardsDrawAwake) {
  EXPECT_THAT(refusal_of([] {
                point_of("requests: 1, rate: 1", ", cluster: {replicas: 4, power_limit: 300 W}");
              }),
              testing::AllOf(testing::HasSubstr("cluster.power_limit: 300 W leave 75 W"),
                             testing::HasSubstr("4 boards")));
}

}  // namespace service_power_test
}  // namespace orrery
