// Do measurements move the costs of a processor as a normal distribution says?
#include "orrery/edge/predict/edge_law.h"

#include <gtest/gtest.h>

#include <cmath>

#include "orrery/base/error.h"

namespace orrery {
namespace edge_law_test {

// Costs of 1 us for a unit of each kind; the first two kinds go together.
EdgeCosts costs() {
  EdgeCosts c{Eigen::VectorXd::Zero(kEdgeWorkKinds),
              Eigen::MatrixXd::Identity(kEdgeWorkKinds, kEdgeWorkKinds)};
  c.covariance(0, 1) = c.covariance(1, 0) = 0.5;
  return c;
}

EdgeTask amount(std::size_t kind, double value) {
  EdgeTask task;
  task.work[kind] = value;
  return task;
}

TEST(EdgeLaw, AddsTheCostsOfAllWork) {
  EdgeTask work = amount(0, 3000);
  work.work[4] = 1000;
  const Estimate<Seconds> time = time_of(costs(), work, 0.1, Origin::kFitted);
  EXPECT_NEAR(time.value.value(), 4e-3, 1e-12);
  EXPECT_NEAR(median_time(costs(), work.work).value(), 4e-3, 1e-12);
  // Shares of 3/4 and 1/4 of two independent costs.
  EXPECT_NEAR(time.shared, std::sqrt(9.0 / 16 + 1.0 / 16), 1e-12);
  EXPECT_EQ(time.own, 0.1);
}

TEST(EdgeLaw, AMeasuredNetworkMovesItsCostsAndThoseThatGoWithThem) {
  // One kind: the logarithm of the time is that of the cost and a constant, so that the posterior
  // is that of a normal mean: v / (v + s^2) of the difference, and v s^2 / (v + s^2).
  const double off = 0.1, noise = EdgeLoss{}.noise * EdgeLoss{}.noise;
  const MeasuredNetwork network{amount(0, 1000), milliseconds(std::exp(off))};
  const EdgeCosts after = calibrated(costs(), std::vector{network});
  EXPECT_NEAR(after.mean[0], off / (1 + noise), 1e-6);
  EXPECT_NEAR(after.covariance(0, 0), noise / (1 + noise), 1e-9);
  EXPECT_NEAR(after.mean[1], 0.5 * off / (1 + noise), 1e-6);  // the covariance of the two is 0.5
  EXPECT_NEAR(after.mean[2], 0, 1e-9);
}

TEST(EdgeLaw, AnOutlierPullsLessThanItsDeviation) {
  std::vector<MeasuredNetwork> networks(9, {amount(0, 1000), milliseconds(1)});
  networks.push_back({amount(0, 1000), milliseconds(100)});
  EXPECT_LT(calibrated(costs(), networks).mean[0], 0.05);  // the mean would be 0.46
}

// Costs that are known, and two networks whose deviations have a variance of 0.04 and go together.
EdgeCosts with_deviations() {
  constexpr Eigen::Index kAll = kEdgeWorkKinds + 2;
  EdgeCosts c{Eigen::VectorXd::Zero(kAll), Eigen::MatrixXd::Zero(kAll, kAll), 0.01};
  c.covariance.bottomRightCorner(2, 2) << 0.04, 0.03, 0.03, 0.04;
  return c;
}

TEST(EdgeLaw, NoiseIsWhatMeasurementsOfOneCostScatterBy) {
  // Eight times of the same work, 4 % above and below: the scatter about their mean, of seven
  // degrees of freedom.
  std::vector<MeasuredNetwork> networks;
  for (int i = 0; i < 8; ++i)
    networks.push_back({amount(0, 1000), milliseconds(std::exp(i % 2 == 0 ? 0.04 : -0.04))});
  EXPECT_NEAR(noise_of(costs(), networks), 0.04 * std::sqrt(8.0 / 7), 2e-4);
  for (MeasuredNetwork& n : networks) n.time = milliseconds(1);
  EXPECT_EQ(noise_of(costs(), networks), 0.01);  // its least value
}

TEST(EdgeLaw, WhatANetworkDiffersByTellsOfItsRelatives) {
  EdgeTask first = amount(0, 1000), second = amount(0, 1000);
  first.deviation = 0, second.deviation = 1;
  const double off = 0.1, noise = EdgeLoss{}.noise * EdgeLoss{}.noise;
  const EdgeCosts after = calibrated(
      with_deviations(), std::vector{MeasuredNetwork{first, milliseconds(std::exp(off))}});
  const auto logarithm = [&](const EdgeTask& task) {
    return std::log(time_of(after, task, 0.1, Origin::kFitted).value / milliseconds(1));
  };
  EXPECT_NEAR(logarithm(first), off * 0.04 / (0.04 + noise), 1e-6);
  EXPECT_NEAR(logarithm(second), off * 0.03 / (0.04 + noise), 1e-6);
  EXPECT_NEAR(logarithm(amount(0, 1000)), 0, 1e-9);  // a network that the law does not know
  EXPECT_NEAR(time_of(after, second, 0.1, Origin::kFitted).shared,
              std::sqrt(0.04 - 0.03 * 0.03 / (0.04 + noise)), 1e-9);
  EXPECT_NEAR(time_of(after, amount(0, 1000), 0.1, Origin::kFitted).own, std::sqrt(0.02), 1e-12);
}

TEST(EdgeLaw, ADesignWithoutMeasuredDevicesIsLessSure) {
  EdgeLaw law;
  law.facts = {""};
  law.lines = Eigen::MatrixXd::Zero(1, kEdgeWorkKinds);
  law.covariance = Eigen::MatrixXd::Identity(kEdgeWorkKinds, kEdgeWorkKinds);
  law.design_covariance = Eigen::MatrixXd::Identity(kEdgeWorkKinds, kEdgeWorkKinds) * 0.6;
  law.designs = {{"slow core", 2, Eigen::VectorXd::Constant(kEdgeWorkKinds, 0.7)}};
  const EdgeCosts known = law.costs({{}, "slow core"}), other = law.costs({{}, "new core"});
  EXPECT_NEAR(known.mean[0], 0.7, 1e-12);
  EXPECT_NEAR(known.covariance(0, 0), 1 + 0.6 / 3, 1e-12);
  EXPECT_NEAR(other.mean[0], 0, 1e-12);
  EXPECT_NEAR(other.covariance(0, 0), 1.6, 1e-12);
}

TEST(EdgeLaw, IsReadAsItWasWritten) {
  EdgeLaw law;
  law.recipe = "none", law.residual = 0.125;
  law.facts = {"", "rate"};
  law.lines = Eigen::MatrixXd::Constant(2, kEdgeWorkKinds, 0.5);
  law.lines(1, 3) = -1;
  law.covariance = law.design_covariance = costs().covariance;
  law.designs = {{"cortex", 3, Eigen::VectorXd::Constant(kEdgeWorkKinds, 0.25)}};
  law.networks = {"mine", "mine_int8"};
  law.deviations = Eigen::Matrix2d::Constant(0.5) + Eigen::Matrix2d::Identity();
  const Bundle bundle =
      Bundle().replacing("edge/laws", {{"edge/laws/mine.yaml", edge_law_text(law)}});
  const EdgeLaw again = read_edge_law(bundle, "mine");
  EXPECT_EQ(again.facts, law.facts);
  EXPECT_EQ(again.lines, law.lines);
  EXPECT_EQ(again.covariance, law.covariance);
  EXPECT_EQ(again.residual, law.residual);
  EXPECT_EQ(again.design_covariance, law.design_covariance);
  EXPECT_EQ(again.designs.at(0).name, "cortex");
  EXPECT_EQ(again.designs.at(0).devices, 3);
  EXPECT_EQ(again.designs.at(0).beyond, law.designs[0].beyond);
  EXPECT_EQ(again.networks, law.networks);
  EXPECT_EQ(again.deviations, law.deviations);
  EXPECT_EQ(again.deviation_of("mine_int8"), 1);
  EXPECT_EQ(again.deviation_of("yours"), kNoDeviation);
  // Twice the rate halves the cost of the fourth kind; an unknown fact changes nothing.
  const EdgeFacts facts = {{{"rate", std::log(2.0)}, {"colour", 3}}, ""};
  EXPECT_NEAR(std::exp(again.costs(facts).mean[3]), std::exp(0.5) / 2, 1e-12);
  EXPECT_THROW(read_edge_law(bundle, "yours"), InputError);
}

// The bundled laws: a network takes longer with more of any work, and less on a faster processor.
TEST(EdgeLaw, BundledLawsAreMonotone) {
  for (const char* name : {"ncnn-cpu", "ncnn-gpu"}) {
    const EdgeLaw law = read_edge_law(Bundle(), name);
    EdgeWork work;
    work.fill(1);
    const auto time = [&](double rate, const EdgeWork& w) {
      const EdgeFacts facts = {{{"rate", rate}}, ""};
      return time_of(law.costs(facts), {w}, law.residual, Origin::kTransferred).value;
    };
    for (std::size_t k = 0; k < kEdgeWorkKinds; ++k) {
      EdgeWork more = work;
      more[k] += 1;
      EXPECT_GT(time(0, more), time(0, work)) << name << ": " << edge_work_kinds()[k].name;
    }
    EXPECT_LT(time(2, work), time(0, work)) << name;
  }
}

}  // namespace edge_law_test
}  // namespace orrery
