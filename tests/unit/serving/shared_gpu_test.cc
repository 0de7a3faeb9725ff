// Engines that share a GPU.
#include "orrery/serving/cluster/shared_gpu.h"

#include <gtest/gtest.h>

namespace orrery {
namespace shared_gpu_test {

TEST(Interference, OfWhateverIsShort) {
  EXPECT_EQ(interference(Sharing::kTimeSlicing, {0.1, 0.1}, {0.1, 0.1}), 2);
  EXPECT_DOUBLE_EQ(interference(Sharing::kMps, {0.1, 0.8}, {0.1, 0.7}), 1.5);  // two that decode
  EXPECT_DOUBLE_EQ(interference(Sharing::kMps, {0.7, 0.2}, {0.1, 0.8}), 1);    // one of each
  EXPECT_DOUBLE_EQ(interference(Sharing::kMps, {0.6, 0.3}, {0.7, 0.2}), 1.3);
}

// Busy `share` of the time when alone; the run ends when its work does if that takes longer.
Tenant tenant(double share, const GpuDemand& demand = {}) {
  const auto run = [share](double stretch) {
    SimulationResult r;
    r.replicas.resize(1);
    const double busy = 100 * share * stretch;
    r.replicas[0].busy = Seconds(busy);
    r.end = sim_seconds(std::max(100.0, busy));
    return r;
  };
  return {run, demand};
}

TEST(SharedGpu, AloneNothingIsStretched) {
  const std::vector<Tenant> one = {tenant(0.7)};
  EXPECT_EQ(share_gpu(Sharing::kTimeSlicing, one).stretch, std::vector<double>{1.0});
}

TEST(SharedGpu, TheFixedPointOfTimeSlicing) {
  // s = 1 + b s for both: 1 / (1 - 0.3).
  const std::vector<Tenant> two = {tenant(0.3), tenant(0.3)};
  const SharedGpu g = share_gpu(Sharing::kTimeSlicing, two);
  EXPECT_NEAR(g.stretch[0], 1 / 0.7, 2e-3);
  EXPECT_NEAR(g.stretch[1], 1 / 0.7, 2e-3);
}

TEST(SharedGpu, TwoThatAreAlwaysBusyGetHalfEach) {
  const std::vector<Tenant> two = {tenant(1), tenant(1)};
  const SharedGpu g = share_gpu(Sharing::kTimeSlicing, two);
  EXPECT_NEAR(g.stretch[0], 2, 2e-3);
  EXPECT_NEAR(g.stretch[1], 2, 2e-3);
}

TEST(SharedGpu, AnIdleNeighbourCostsNothingAndABusyOneIsHardlySlowed) {
  const std::vector<Tenant> two = {tenant(0), tenant(0.9)};
  const SharedGpu g = share_gpu(Sharing::kTimeSlicing, two);
  EXPECT_NEAR(g.stretch[0], 1.9, 2e-3);
  EXPECT_NEAR(g.stretch[1], 1, 2e-3);
}

TEST(SharedGpu, MpsIsNeverWorse) {
  const GpuDemand decode{0.05, 0.8}, prefill{0.7, 0.3};
  for (double share : {0.2, 0.5, 0.8}) {
    const std::vector<Tenant> two = {tenant(share, decode), tenant(share, prefill)};
    EXPECT_LE(share_gpu(Sharing::kMps, two).stretch[0],
              share_gpu(Sharing::kTimeSlicing, two).stretch[0]);
  }
}

}  // namespace shared_gpu_test
}  // namespace orrery
