#include "orrery/flow/simulation/flow_simulation.h"

#include <gtest/gtest.h>

#include <cmath>

#include "orrery/base/error.h"
#include "orrery/flow/collectives/flow_collectives.h"
#include "orrery/flow/topology/topology_build.h"

namespace orrery {
namespace flow_simulation_test {

using Kind = Collective::Kind;

constexpr double kBandwidth = 100e9, kLatency = 2e-6;

Topology single_switch(int gpus) {
  return dimensions_topology(
      {{Wiring::kSwitch, gpus, BytesPerSecond(kBandwidth), Seconds(kLatency)}});
}

double collective_time(const Topology& t, int ranks, FlowCollective c, FlowOptions options = {}) {
  FlowProgram p;
  FlowCollectives collectives(p);
  collectives.add(c, collectives.groups(strided_groups(ranks, 1, ranks)));
  return simulate_flows(t, p, options).makespan.value();
}

FlowCollective of(Kind kind, CollectiveAlgorithm algorithm, double bytes) {
  FlowCollective c;
  c.kind = kind;
  c.algorithm = algorithm;
  c.bytes = Bytes(bytes);
  return c;
}

TEST(FlowSimulation, OneMessageTakesLatencyAndBandwidth) {
  FlowProgram p;
  p.patterns.emplace_back();
  p.patterns[0].send(0, 1, Bytes(1e9));
  p.ops.push_back(FlowOp::run("send", 0));
  const FlowResult r = simulate_flows(single_switch(2), p);
  EXPECT_NEAR(r.makespan.value(), 1e9 / kBandwidth + kLatency, 1e-12);
}

TEST(FlowSimulation, AnIncastSharesTheReceiversLink) {
  FlowProgram p;
  p.patterns.emplace_back();
  for (int i = 1; i < 8; ++i) p.patterns[0].send(i, 0, Bytes(1e9));
  p.ops.push_back(FlowOp::run("incast", 0));
  const FlowResult r = simulate_flows(single_switch(8), p);
  EXPECT_NEAR(r.makespan.value(), 7e9 / kBandwidth + kLatency, 1e-9);
  EXPECT_EQ(r.classes, 1);  // all senders are alike
}

TEST(FlowSimulation, RatesAreMaxMinFairAsTheyChange) {
  // 0 -> 1 (100 MB) and 0 -> 2 (300 MB) share the link out of 0; 3 -> 2 (100 MB) shares the link
  // into 2 with the second. All at half until 2 ms, when the first and the third end; the second
  // then has 200 MB left at the full 100 GB/s: 4 ms.
  FlowProgram p;
  p.patterns.emplace_back();
  p.patterns[0].send(0, 1, Bytes(100e6));
  p.patterns[0].send(0, 2, Bytes(300e6));
  p.patterns[0].send(3, 2, Bytes(100e6));
  p.ops.push_back(FlowOp::run("three", 0));
  const FlowResult r = simulate_flows(single_switch(4), p);
  EXPECT_NEAR(r.gpu_end[1].value(), 2e-3 + kLatency, 1e-9);
  EXPECT_NEAR(r.gpu_end[3].value(), 2e-3 + kLatency, 1e-9);
  EXPECT_NEAR(r.makespan.value(), 4e-3 + kLatency, 1e-9);
}

TEST(FlowSimulation, ALinkThatIsNotTheBottleneckGivesTheRestAway) {
  // Flow a crosses a 10 GB/s line and then shares 100 GB/s with b: b gets 90.
  std::vector<Link> links = {{0, 3, BytesPerSecond(10e9), Seconds(0)},
                             {1, 3, BytesPerSecond(100e9), Seconds(0)},
                             {3, 2, BytesPerSecond(100e9), Seconds(0)}};
  const Topology t("y", 3, {"s"}, links);
  FlowProgram p;
  p.patterns.emplace_back();
  p.patterns[0].send(0, 2, Bytes(10e9));
  p.patterns[0].send(1, 2, Bytes(90e9));
  p.ops.push_back(FlowOp::run("two", 0));
  const FlowResult r = simulate_flows(t, p);
  EXPECT_NEAR(r.gpu_end[0].value(), 1, 1e-9);
  EXPECT_NEAR(r.gpu_end[1].value(), 1, 1e-9);
}

TEST(FlowSimulation, MessagesOfAStreamPipelineOverLatency) {
  // Ten messages of 1 MB (10 us each) leave one after the other; a second stream passes each on.
  FlowProgram p;
  p.patterns.emplace_back();
  const int a = p.patterns[0].send(0, 1, Bytes(1e6), 10);
  const int b = p.patterns[0].send(1, 2, Bytes(1e6), 10);
  p.patterns[0].wait(b, a);
  p.ops.push_back(FlowOp::run("chain", 0));
  EXPECT_NEAR(simulate_flows(single_switch(3), p).makespan.value(), 11 * 10e-6 + 2 * kLatency,
              1e-12);
}

TEST(FlowSimulation, OperationsFollowTheirOrderOnEachGpu) {
  // GPU 1 computes for 5 ms, then 0 and 1 exchange, while 2 and 3 exchange at once.
  FlowProgram p;
  FlowCollectives collectives(p);
  FlowOp compute;
  compute.name = "compute";
  compute.gpus = {1};
  compute.time = milliseconds(5);
  p.ops.push_back(compute);
  const int pairs = collectives.groups({{0, 1}, {2, 3}});
  collectives.add(of(Kind::kAllGather, CollectiveAlgorithm::kRing, 2e8), pairs, {0});
  const FlowResult r = simulate_flows(single_switch(4), p);
  EXPECT_NEAR(r.gpu_end[2].value(), 1e-3 + kLatency, 1e-9);
  EXPECT_NEAR(r.gpu_end[0].value(), 6e-3 + kLatency, 1e-9);
  EXPECT_NEAR(r.ops[1].start.value(), 0, 1e-12);
}

TEST(FlowSimulation, RingsOfAllSizesAreTheirClosedForm) {
  for (int n = 2; n <= 256; n *= 2) {
    const Topology t = single_switch(n);
    for (double bytes : {1e3, 1e6, 1e9}) {
      const double step = bytes / n / kBandwidth + kLatency;
      EXPECT_NEAR(collective_time(t, n, of(Kind::kAllReduce, CollectiveAlgorithm::kRing, bytes)),
                  2 * (n - 1) * step, 1e-9 * n * step)
          << n;
      EXPECT_NEAR(
          collective_time(t, n, of(Kind::kReduceScatter, CollectiveAlgorithm::kRing, bytes)),
          (n - 1) * step, 1e-9 * n * step)
          << n;
      EXPECT_NEAR(
          collective_time(t, n, of(Kind::kAllReduce, CollectiveAlgorithm::kHalvingDoubling, bytes)),
          2 * (std::log2(n) * kLatency + (n - 1.0) / n * bytes / kBandwidth), 1e-9 * n * step)
          << n;
      EXPECT_NEAR(collective_time(t, n, of(Kind::kAllToAll, CollectiveAlgorithm::kDirect, bytes)),
                  kLatency + (n - 1.0) / n * bytes / kBandwidth, 1e-9 * n * step)
          << n;
    }
  }
}

TEST(FlowSimulation, ABroadcastTreeOfOneChunkIsItsClosedForm) {
  // 2^k - 1 ranks: every inner vertex sends to two children at half the bandwidth each.
  for (int k = 2; k <= 8; ++k) {
    const int n = (1 << k) - 1;
    FlowCollective c = of(Kind::kBroadcast, CollectiveAlgorithm::kTree, 1e8);
    c.chunks = 1;
    EXPECT_NEAR(collective_time(single_switch(n), n, c), (k - 1) * (2e8 / kBandwidth + kLatency),
                1e-9);
  }
}

// A collective to the first rank takes as long as one from it on links with equal directions. It is
// limited by the incoming link of the first rank, and not by the outgoing one.
TEST(FlowSimulation, AReduceIsABroadcastTheOtherWay) {
  for (CollectiveAlgorithm a :
       {CollectiveAlgorithm::kRing, CollectiveAlgorithm::kTree, CollectiveAlgorithm::kDirect}) {
    const auto time = [&](Kind kind, const char* slow) {
      Topology t = single_switch(15);
      if (*slow != 0) t.degrade(slow, 0.25);
      FlowCollective c = of(kind, a, 1e8);
      c.chunks = a == CollectiveAlgorithm::kRing ? 10 : 1;
      return collective_time(t, 15, c);
    };
    EXPECT_NEAR(time(Kind::kReduce, "") / time(Kind::kBroadcast, ""), 1, 1e-9) << to_text(a);
    EXPECT_NEAR(time(Kind::kReduce, "switch0.0->gpu0"), time(Kind::kBroadcast, "gpu0->switch0.0"),
                1e-9)
        << to_text(a);
    EXPECT_NEAR(time(Kind::kReduce, "gpu0->switch0.0") / time(Kind::kReduce, ""), 1, 1e-9);
  }
}

TEST(FlowSimulation, ALargeTreeAllReduceIsBoundByTwiceTheBuffer) {
  // Over both trees a rank takes in twice the buffer, or nearly.
  for (int n : {4, 8, 32, 128, 256}) {
    FlowCollective c = of(Kind::kAllReduce, CollectiveAlgorithm::kTree, 4e9);
    c.chunks = 512;
    const double time = collective_time(single_switch(n), n, c);
    EXPECT_GT(time, 2 * (n - 1.0) / n * 4e9 / kBandwidth);
    EXPECT_LT(time, 1.1 * 2 * 4e9 / kBandwidth) << n;
  }
}

TEST(FlowSimulation, ABidirectionalRingIsTwiceAsFastOnARing) {
  const Topology t =
      dimensions_topology({{Wiring::kRing, 16, BytesPerSecond(kBandwidth), Seconds(kLatency)}});
  const double bytes = 1e9, one = 30 * (bytes / 16 / kBandwidth + kLatency),
               both = 30 * (bytes / 32 / kBandwidth + kLatency);
  EXPECT_NEAR(collective_time(t, 16, of(Kind::kAllReduce, CollectiveAlgorithm::kRing, bytes)), one,
              1e-9 * one);
  EXPECT_NEAR(
      collective_time(t, 16, of(Kind::kAllReduce, CollectiveAlgorithm::kBidirectionalRing, bytes)),
      both, 1e-9 * both);
}

ClusterPlan nodes_of_eight(int nodes, double oversubscription = 1) {
  NodePlan n;
  n.count = nodes;
  n.bandwidth = BytesPerSecond(450e9);
  n.latency = microseconds(1);
  n.ports = 8;
  n.port_bandwidth = BytesPerSecond(50e9);
  n.port_latency = microseconds(3);
  ClusterPlan plan;
  plan.nodes = {n};
  plan.network.rails = true;
  plan.network.tiers = {{4, oversubscription}};
  return plan;
}

TEST(FlowSimulation, FoldingAndRepeatingChangeNothing) {
  Topology t = cluster_topology(nodes_of_eight(8, 2));
  FlowOptions plain;
  plain.fold = false;
  plain.repeat_periods = false;
  for (int damage = 0; damage < 3; ++damage) {
    if (damage == 1) t.degrade("gpu17-rail1.leaf0", 0.3);
    if (damage == 2) t.degrade("node5.switch", 0.5);
    for (auto [kind, algorithm] :
         {std::pair{Kind::kAllReduce, CollectiveAlgorithm::kRing},
          std::pair{Kind::kAllReduce, CollectiveAlgorithm::kTree},
          std::pair{Kind::kAllReduce, CollectiveAlgorithm::kHierarchical},
          std::pair{Kind::kAllToAll, CollectiveAlgorithm::kDirect},
          std::pair{Kind::kAllGather, CollectiveAlgorithm::kHalvingDoubling}}) {
      for (double bytes : {1e5, 1e8}) {
        FlowCollective c = of(kind, algorithm, bytes);
        c.inner = 8;
        c.channels = algorithm == CollectiveAlgorithm::kRing ? 8 : 1;
        const double fast = collective_time(t, 64, c), slow = collective_time(t, 64, c, plain);
        EXPECT_NEAR(fast, slow, 1e-9 * slow) << to_text(algorithm) << ' ' << damage;
      }
    }
  }
}

TEST(FlowSimulation, JobsOnOneNetworkSlowEachOtherDown) {
  // Two rings over the same ports: both take twice as long.
  const Topology t = single_switch(4);
  FlowProgram p;
  FlowCollectives collectives(p);
  const int all = collectives.groups({{0, 1, 2, 3}});
  collectives.add(of(Kind::kAllGather, CollectiveAlgorithm::kRing, 4e9), all);
  const double alone = simulate_flows(t, p).makespan.value();
  collectives.add(of(Kind::kAllGather, CollectiveAlgorithm::kRing, 4e9), all);
  EXPECT_NEAR(simulate_flows(t, p).makespan.value(), 2 * alone - 3 * kLatency, 1e-9);
}

TEST(FlowSimulation, HugeAndEmptyBuffersEnd) {
  const Topology t = single_switch(64);
  const double time =
      collective_time(t, 64, of(Kind::kAllReduce, CollectiveAlgorithm::kRing, 1e18));
  EXPECT_NEAR(time, 2 * 63.0 / 64 * 1e18 / kBandwidth, 1e-3 * time);
  EXPECT_NEAR(collective_time(t, 64, of(Kind::kAllReduce, CollectiveAlgorithm::kRing, 0)),
              126 * kLatency, 1e-12);
  EXPECT_EQ(collective_time(t, 1, of(Kind::kAllReduce, CollectiveAlgorithm::kRing, 1e9)), 0);
}

TEST(FlowSimulation, WhatCannotRunIsRefused) {
  const Topology t = single_switch(4);
  FlowProgram p;
  p.patterns.emplace_back();
  const int a = p.patterns[0].send(0, 1, Bytes(1));
  const int b = p.patterns[0].send(1, 0, Bytes(1));
  p.patterns[0].wait(a, b);
  p.patterns[0].wait(b, a);
  p.ops.push_back(FlowOp::run("knot", 0));
  EXPECT_THROW(simulate_flows(t, p), InputError);  // they wait for each other
  p.patterns[0] = {};
  p.patterns[0].send(0, 9, Bytes(1));
  EXPECT_THROW(simulate_flows(t, p), InputError);  // no gpu9
  EXPECT_THROW(p.patterns[0].send(0, 1, Bytes(-1)), InputError);
  EXPECT_THROW(strided_groups(3, 1, 8), InputError);
  FlowCollectives collectives(p);
  EXPECT_THROW(collectives.add(of(Kind::kAllReduce, CollectiveAlgorithm::kHalvingDoubling, 1),
                               collectives.groups({{0, 1, 2}})),
               InputError);
  EXPECT_THROW(collectives.add(of(Kind::kAllToAll, CollectiveAlgorithm::kTree, 1), 0), InputError);
  EXPECT_THROW(collectives.groups({{0, 1}, {1, 2}}), InputError);
  EXPECT_THROW(parse_flow_algorithm("rnig"), InputError);
}

TEST(FlowSimulation, EventsAreLimited) {
  const Topology t = single_switch(4);
  FlowOptions few;
  few.most_events = 100;
  few.repeat_periods = false;
  FlowProgram p;
  p.patterns.emplace_back();
  p.patterns[0].send(0, 1, Bytes(1e6), 1'000'000);
  p.ops.push_back(FlowOp::run("long", 0));
  EXPECT_THROW(simulate_flows(t, p, few), InputError);
  few.repeat_periods = true;
  EXPECT_GT(simulate_flows(t, p, few).repeated, 999'000);
}

}  // namespace flow_simulation_test
}  // namespace orrery
