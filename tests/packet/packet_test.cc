// The flow level against ns-3 on 8 and 16 hosts: within 10 % where senders are held up by the links
// alone (2 % where it was tried). Congestion control takes its time to share a full link evenly:
// the flow level is then the least that a pattern takes.
#include <gtest/gtest.h>

#include "orrery/flow/collectives/flow_collectives.h"
#include "orrery/flow/simulation/flow_simulation.h"
#include "orrery/flow/topology/topology_build.h"
#include "tests/packet/packet_level.h"

namespace orrery {
namespace packet_test {

constexpr BytesPerSecond kRate(12.5e9);  // 100 Gbit/s
constexpr Seconds kHop(2e-6);
constexpr double kBuffer = 16.0 * 1024 * 1024;

// `least`: of the flow level's time over the packets'.
void expect_alike(const Topology& t, const FlowProgram& p,
                  packet::Transport transport = packet::Transport::kOpen, double least = 0.9) {
  const double flow = simulate_flows(t, p).makespan.value();
  packet::Traffic traffic;
  traffic.vertices = static_cast<int>(t.vertices());
  for (const Link& l : t.links()) {
    // Each cable once, because both directions are equal.
    if (l.from < l.to)
      traffic.links.push_back({l.from, l.to, l.bandwidth.value(), l.latency.value()});
  }
  for (const FlowPattern::Stream& s : p.patterns[0].streams()) {
    traffic.streams.push_back({s.from, s.to, s.bytes.value() * p.ops[0].scale, s.count});
  }
  for (const FlowPattern::Wait& w : p.patterns[0].waits()) {
    traffic.waits.push_back({w.stream, w.other, w.lag});
  }
  const double packets = packet::makespan(traffic, transport);
  EXPECT_GE(flow, least * packets);
  EXPECT_LE(flow, 1.1 * packets);
  std::printf("  flow level %.1f us, packets %.1f us: %+.1f %%\n", flow * 1e6, packets * 1e6,
              100 * (flow / packets - 1));
}

FlowProgram collective(Collective::Kind kind, CollectiveAlgorithm algorithm, int hosts,
                       double bytes) {
  FlowProgram p;
  FlowCollectives collectives(p);
  FlowCollective c;
  c.kind = kind;
  c.algorithm = algorithm;
  c.bytes = Bytes(bytes);
  collectives.add(c, collectives.groups(strided_groups(hosts, 1, hosts)));
  return p;
}

Topology star(int hosts) { return dimensions_topology({{Wiring::kSwitch, hosts, kRate, kHop}}); }

FlowProgram ring(int hosts) {
  return collective(Collective::Kind::kAllReduce, CollectiveAlgorithm::kRing, hosts, kBuffer);
}
FlowProgram all_to_all(int hosts) {
  return collective(Collective::Kind::kAllToAll, CollectiveAlgorithm::kDirect, hosts, kBuffer);
}
FlowProgram halving_doubling(int hosts) {
  return collective(Collective::Kind::kAllReduce, CollectiveAlgorithm::kHalvingDoubling, hosts,
                    kBuffer);
}
FlowProgram incast(int hosts) {
  FlowProgram p;
  p.patterns.emplace_back();
  for (int i = 1; i < hosts; ++i) p.patterns[0].send(i, 0, Bytes(2e6));
  p.ops.push_back(FlowOp::run("incast", 0));
  return p;
}

// Two leaves with half of their hosts' bandwidth upwards.
Topology oversubscribed(int hosts) {
  NodePlan node;
  node.gpus = 1;
  node.count = hosts;
  node.ports = 1;
  node.port_bandwidth = kRate;
  node.port_latency = kHop;
  ClusterPlan plan;
  plan.nodes = {node};
  plan.network.tiers = {{hosts / 2, 2}};
  return cluster_topology(plan);
}

class Hosts : public testing::TestWithParam<int> {};

TEST_P(Hosts, RingAllReduce) { expect_alike(star(GetParam()), ring(GetParam())); }
TEST_P(Hosts, Incast) { expect_alike(star(GetParam()), incast(GetParam())); }
TEST_P(Hosts, AllToAll) { expect_alike(star(GetParam()), all_to_all(GetParam())); }
TEST_P(Hosts, HalvingDoublingOnAnOversubscribedTree) {
  expect_alike(oversubscribed(GetParam()), halving_doubling(GetParam()));
}

TEST_P(Hosts, UnderCongestionControl) {
  constexpr auto kDctcp = packet::Transport::kDctcp;
  expect_alike(star(GetParam()), ring(GetParam()), kDctcp);
  expect_alike(star(GetParam()), incast(GetParam()), kDctcp);
  expect_alike(star(GetParam()), all_to_all(GetParam()), kDctcp);
  // Messages of 50 round trips end before their shares are even.
  expect_alike(oversubscribed(GetParam()), halving_doubling(GetParam()), kDctcp, 0.7);
}

INSTANTIATE_TEST_SUITE_P(Packets, Hosts, testing::Values(8, 16));

}  // namespace packet_test
}  // namespace orrery
