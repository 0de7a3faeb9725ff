// Does a deployment's plant draw, emit and pay what its scope counts?
#include "orrery/scenario/setup/plant_account.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "orrery/base/error.h"
#include "orrery/scenario/kinds/steady/steady_metrics.h"
#include "tests/refusal.h"

namespace orrery {
namespace plant_account_test {

class PlantAccounts : public testing::Test {
 protected:
  PlantAccount account(const PlantChoice& choice, const char* gpu = "h100-sxm") {
    notes_.clear();
    return {facts_, choice, facts_.gpu(gpu), "", notes_};
  }
  Facts facts_{Bundle()};
  std::vector<std::string> notes_;
  const Boards boards_ = {{Watts(500), 0.1, 0, Origin::kFitted}, 8};
};

TEST_F(PlantAccounts, EachScopeHoldsTheOneWithinIt) {
  const double gpu = account({"gpu", {}, "", false}).power(boards_).value.value();
  const double node = account({"node", {}, "", false}).power(boards_).value.value();
  EXPECT_EQ(gpu, 4000);
  // 500 W is 0.69 of the way from 75 W to 690 W: the rest draws 2,194 W of 1,600 to 2,460 W.
  EXPECT_NEAR(node, (4000 + 2194) / 0.95, 5);
  const double average = account({"facility", {}, "", false}).power(boards_).value.value();
  EXPECT_THAT(notes_, testing::Contains(testing::HasSubstr("PUE 1.58")));
  EXPECT_NEAR(average, 1.58 * node, 1e-6);
  const double own = account({"facility", 1.1, "", false}).power(boards_).value.value();
  EXPECT_NEAR(own, 1.1 * node, 1e-6);
  EXPECT_TRUE(notes_.empty());
}

TEST_F(PlantAccounts, EmissionsAreOfTheFacilityUnlessAskedOtherwise) {
  const PlantAccount all = account({"", 1.25, "400", true});
  EXPECT_EQ(all.scope(), "facility");
  const double kw = all.power(boards_).value.value() / 1000;
  EXPECT_NEAR(all.operational_hour(boards_).value.value(), 400 * kw, 1e-6);
  EXPECT_NEAR(all.embodied_hour(8).value(), 8 * 164e3 / (6 * 8760), 1e-9);
  EXPECT_NEAR(account({"gpu", {}, "400", false}).operational_hour(boards_).value.value(), 1600,
              1e-9);
  EXPECT_EQ(account({"gpu", {}, "400", false}).embodied_hour(8).value(), 0);
}

TEST_F(PlantAccounts, OwnedGpusPayForTheElectricityOfTheFacility) {
  GpuPrice price;
  price.hour = {Usd(1), 0, 0, Origin::kMeasured};
  const PlantAccount plant = account({"", {}, "", false});
  EXPECT_EQ(plant.with_electricity(price, boards_).value, Usd(8));
  price.electricity = {0.1, 1.2};
  const double node = account({"node", {}, "", false}).power(boards_).value.value();
  EXPECT_NEAR(plant.with_electricity(price, boards_).value.value(), 8 + 0.1 * 1.2 * node / 1000,
              1e-9);
  // The scenario's own PUE takes the place of the book's.
  EXPECT_NEAR(account({"", 2, "", false}).with_electricity(price, boards_).value.value(),
              8 + 0.1 * 2 * node / 1000, 1e-9);
}

TEST_F(PlantAccounts, BoardsThatNobodyAssessedAreRefused) {
  EXPECT_THAT(refusal_of([&] { account({"", {}, "DEU", true}, "l40s"); }),
              testing::AllOf(testing::HasSubstr("l40s"), testing::HasSubstr("energy.embodied")));
}

// 1,000 output tokens of 10 requests in half an hour of a plant of 10 kW at 300 g.
TEST_F(PlantAccounts, MetricsAreTheEmissionsOverTokensAndRequests) {
  ClosedFormResult result;
  result.makespan = {seconds(1800), 0.1, 0, Origin::kFitted};
  result.output_tokens = 1000, result.input_tokens = 5000;
  result.computed.decode_steps = 99;
  const Boards boards = {{Watts(400), 0, 0, Origin::kFitted}, 25};
  Point p;
  p.metrics.push_back(exact_metric("energy_per_token", 18));
  add_plant_metrics(account({"gpu", {}, "300", false}), {boards, Watts(700)}, result, p);
  EXPECT_EQ(p.find("plant_power"), nullptr);  // as the boards
  EXPECT_EQ(p.find("energy_per_token")->value, 18);
  EXPECT_NEAR(p.find("carbon_per_hour")->value, 3000, 1e-9);
  EXPECT_NEAR(p.find("carbon_per_request")->value, 150, 1e-9);
  EXPECT_NEAR(p.find("carbon_per_million_output_tokens")->value, 1.5e6, 1e-3);
  EXPECT_EQ(p.find("embodied_carbon_per_hour"), nullptr);
  Point wider;
  wider.metrics.push_back(exact_metric("energy_per_token", 18));
  const PlantAccount plant = account({"facility", 1.5, "300", true});
  add_plant_metrics(plant, {boards, Watts(700)}, result, wider);
  const double factor = plant.power(boards).value.value() / 10'000;
  EXPECT_GT(factor, 1.5);
  EXPECT_NEAR(wider.find("plant_power")->value, 10'000 * factor, 1e-6);
  EXPECT_NEAR(wider.find("energy_per_token")->value, 18 * factor, 1e-9);
  EXPECT_TRUE(wider.find("energy_per_token")->has_interval());
  EXPECT_NEAR(wider.find("carbon_per_hour")->value,
              3000 * factor + wider.find("embodied_carbon_per_hour")->value, 1e-6);
}

// Eight boards at 690 W of 700, with an error of 30 %: their interval alone would reach 9,000 W. At
// the limits a node draws (8 * 700 + 2,460) / 0.95, and 20 % of the 2,460 W are unknown.
TEST_F(PlantAccounts, ThePlantsIntervalEndsAtTheBoardsLimitsAndTheNodesMost) {
  const Boards boards = {{Watts(690), 0.3, 0, Origin::kFitted}, 8};
  const PlantAccount node = account({"node", {}, "", false});
  const Estimate<Watts> most = node.most_power(8, Watts(700));
  EXPECT_NEAR(most.value.value(), (5600 + 2460) / 0.95, 0.5);
  EXPECT_NEAR(most.sigma(), 0.2 * 2460 / 8060, 1e-9);
  std::vector<Metric> metrics;
  count_scope(node, {boards, Watts(700)}, metrics);
  const Metric& plant = metrics.front();
  EXPECT_GT(node.power(boards).quantile(0.95), most.quantile(0.95));
  EXPECT_EQ(plant.high90, most.quantile(0.95).value());
  EXPECT_EQ(plant.high50, most.quantile(0.75).value());
  EXPECT_LT(plant.low90, plant.low50);
  // An interval within what can be drawn keeps its ends.
  metrics.clear();
  const Boards half = {{Watts(350), 0.1, 0, Origin::kFitted}, 8};
  count_scope(node, {half, Watts(700)}, metrics);
  EXPECT_EQ(metrics.front().high90, node.power(half).quantile(0.95).value());
}

// A series of 200 g but for two hours of 100 g: a run of an hour emits half, boards as ever.
TEST_F(PlantAccounts, ARunThatCanWaitEmitsLess) {
  const std::string path = testing::TempDir() + "orrery-plant-account.csv";
  {
    std::ofstream file(path);
    file << "time,g_per_kwh\n";
    for (int h = 0; h < 24; ++h)
      file << "2026-03-01T" << h / 10 << h % 10 << ":00," << (h == 5 || h == 6 ? 100 : 200) << "\n";
  }
  ClosedFormResult result;
  result.makespan = {seconds(3600), 0.1, 0, Origin::kFitted};
  result.output_tokens = 1000;
  Point p;
  const Boards boards = {{Watts(1000), 0, 0, Origin::kFitted}, 1};
  add_plant_metrics(account({"gpu", {}, path, true}), {boards, Watts(1000)}, result, p);
  const double embodied = p.find("embodied_carbon_per_hour")->value;
  const double mean = (22 * 200 + 2 * 100) / 24.0;
  EXPECT_NEAR(p.find("carbon_per_request")->value, (mean + embodied) / 1000, 1e-9);
  EXPECT_NEAR(p.find("deferred_carbon_per_request")->value, (100 + embodied) / 1000, 1e-9);
  EXPECT_THAT(p.notes, testing::Contains(testing::HasSubstr("hour 5 of the series")));
}

}  // namespace plant_account_test
}  // namespace orrery
