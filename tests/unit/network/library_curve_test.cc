#include "orrery/network/collectives/library_curve.h"

#include <gtest/gtest.h>

#include <cmath>

#include "orrery/network/collectives/make_network.h"
#include "orrery/network/collectives/nccl_graph.h"
#include "orrery/network/fit/across_fit.h"

namespace orrery {
namespace library_curve_test {

using Kind = Collective::Kind;
using A = CollectiveAlgorithm;
using P = CollectiveProtocol;

double us(Seconds t) { return t / microseconds(1); }

// One tree with a latency of 20 us (5 of them the NIC's) and 1 GB/s: 15 us are scaled, 5 are not.
TEST(LibraryCurve, StartScalesTheTunersLatencyAlone) {
  NcclCosts costs;
  costs.add({A::kTree,
             P::kLl,
             {true, microseconds(20), BytesPerSecond(1e9), microseconds(5), 0, Seconds(0)}});
  const CurveTime t = library_time({2, 1, 0.5}, costs, Bytes(35000), Seconds(0));
  EXPECT_NEAR(us(t.latency), 35, 1e-9);
  EXPECT_NEAR(us(t.transfer), 35, 1e-9);
  EXPECT_NEAR(us(t.total), 35 + 35 + 0.5 * 35, 1e-9);
  EXPECT_NEAR(start_share(t), 1 - 35 / 87.5, 1e-12);
}

// NVLSTree's stages are filled once: from then on only the transfer grows.
TEST(LibraryCurve, StagesFillOnce) {
  NcclCosts costs;
  costs.add({A::kNvlsTree,
             P::kSimple,
             {true, microseconds(50), BytesPerSecond(100e9), Seconds(0), 2, microseconds(200),
              LatencyOverlap::kSwitch}});
  const LibraryCurve plain{1, 1, 1};
  const auto beyond = [&](double bytes) {
    const CurveTime t = library_time(plain, costs, Bytes(bytes), Seconds(0));
    return us(t.total - t.transfer - t.latency);
  };
  // sqrt(50 * 10) + sqrt(2 * 200 * 10 / 16) us of a transfer of 10 us.
  EXPECT_NEAR(beyond(1e6), std::sqrt(500.0) + std::sqrt(250.0), 1e-6);
  EXPECT_NEAR(beyond(1e9), 200, 1e-6);
  EXPECT_NEAR(beyond(1e11), 200, 1e-6);
}

// A rack's small message takes the tree's latency, not that of the reduction in the switch, which
// is the tuner's least.
TEST(LibraryCurve, SmallMessagesStartAsTrees) {
  NcclCosts costs;
  costs.add({A::kTree,
             P::kLl,
             {true, microseconds(92), BytesPerSecond(20e9), Seconds(0), 0, Seconds(0)}});
  costs.add({A::kNvlsTree,
             P::kSimple,
             {true, microseconds(67), BytesPerSecond(400e9), Seconds(0), 2, microseconds(900),
              LatencyOverlap::kSwitch}});
  EXPECT_NEAR(us(library_time({2, 1, 1}, costs, Bytes(1), Seconds(0)).latency), 184, 1e-9);
}

// A ring of 30 us and 40 us of transfer takes 50 us. PAT transfers in 25. With a PAT on offer that
// starts after 100 us the ring is not slower, and a PAT that starts early is taken.
TEST(LibraryCurve, PatBesideARingDoesNotSlowItDown) {
  const auto with_pat = [](double pat_start) {
    NcclCosts costs;
    costs.add({A::kRing,
               P::kLl,
               {true, microseconds(30), BytesPerSecond(1e9), Seconds(0), 0, Seconds(0),
                LatencyOverlap::kRing}});
    costs.add({A::kPat,
               P::kSimple,
               {true, microseconds(pat_start), BytesPerSecond(1.6e9), Seconds(0), 0, Seconds(0),
                LatencyOverlap::kAlone}});
    return us(library_time({1, 1, 1}, costs, Bytes(40000), Seconds(0)).total);
  };
  EXPECT_NEAR(with_pat(100), 50, 1e-9);
  EXPECT_NEAR(with_pat(4), 4 + 25 + 10, 1e-9);
}

// Two racks of 72: two stages of 7 us for each GPU; EFA's 15 us are 12.3 more than in NCCL's table,
// which a tree over two nodes passes twice.
TEST(LibraryCurve, WhatGraphsSay) {
  const Catalog catalog;
  const Cluster racks(catalog, catalog.gpu("gb200"), 144);
  const NcclCost tree = nccl_cost(nccl_graph(nccl_tables(Bundle()), racks, racks.link(144)),
                                  Kind::kAllReduce, A::kNvlsTree, P::kSimple);
  EXPECT_NEAR(tree.stages, 2, 1e-12);
  EXPECT_NEAR(us(tree.fill), 2 * 72 * 7, 1e-9);
  const Cluster efa(catalog, catalog.gpu("h100-sxm"), 16, catalog.node_type("aws-p5"));
  const auto p5 = [&](A a, P p) {
    return nccl_cost(nccl_graph(nccl_tables(Bundle()), efa, efa.link(16)), Kind::kAllReduce, a, p);
  };
  EXPECT_NEAR(us(p5(A::kTree, P::kLl).nic), 2 * 12.3, 1e-9);
  EXPECT_NEAR(us(p5(A::kTree, P::kSimple).nic), 2 * 2 * 12.3, 1e-9);
  EXPECT_NEAR(us(p5(A::kNvlsTree, P::kSimple).fill), 2 * (8 * 7 + 8 * 12.3), 1e-9);
  EXPECT_NEAR(us(p5(A::kTree, P::kLl).latency - p5(A::kTree, P::kLl).nic), 6.8 + 2 * (7 * 0.6 + 5),
              1e-9);
}

TEST(LibraryCurve, ErrorsOfParts) {
  const CurveTime t{microseconds(30), microseconds(60), microseconds(100)};
  const PartErrors e{0.5, 0.25, 0.1};
  EXPECT_NEAR(e.parts(t), std::hypot(0.4 * 0.5, 0.6 * 0.25), 1e-12);
  EXPECT_NEAR(e.sigma(t), std::hypot(e.parts(t), 0.1), 1e-12);
  // Half of them within 0.1, nine of ten within 0.4.
  EXPECT_NEAR(sigma_of({0.01, 0.02, 0.03, 0.04, 0.05, 0.1, 0.2, 0.3, 0.35, 0.4}),
              (0.1 / 0.6744897501960817 + 0.4 / 1.6448536269514722) / 2, 1e-8);
}

// A kernel in a loop waits for the other ranks' launch, the more likely the more there are; a long
// one does not.
TEST(NetworkModel, KernelsOfALoopWaitForTheOtherRanks) {
  const Catalog catalog;
  const auto model = [&](const char* stack) {
    return make_network_model(Cluster(catalog, catalog.gpu("h100-sxm"), 8), {.tp = 8}, stack,
                              Bundle());
  };
  const auto loop = model("pytorch-loop"), nccl = model("nccl");
  const auto time = [](const NetworkModel& m, int ranks, double bytes) {
    return m.predict({Kind::kAllReduce, Collective::Group::kTensor, ranks, Bytes(bytes)}).time;
  };
  for (int ranks : {2, 4}) {
    const double kernel = us(time(*nccl, ranks, 1024).value);
    const Estimate<Seconds> t = time(*loop, ranks, 1024);
    EXPECT_NEAR(us(t.value), kernel + (40 - kernel) * (ranks - 1) / ranks, 1e-9);
    EXPECT_LT(us(t.quantile(0.05)), kernel * 1.001);
    EXPECT_GT(us(t.quantile(0.95)), 59);
  }
  EXPECT_EQ(time(*loop, 2, 1e9).value, time(*nccl, 2, 1e9).value);
  EXPECT_EQ(time(*loop, 2, 1e9).sigma(), time(*nccl, 2, 1e9).sigma());
}

}  // namespace library_curve_test
}  // namespace orrery
