// Laws of the flow level: the fast simulation against a slow obvious one on random programs, the
// closed forms, and bounds that nothing may beat.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "orrery/flow/collectives/flow_collectives.h"
#include "orrery/flow/simulation/flow_simulation.h"
#include "orrery/flow/topology/topology_build.h"
#include "orrery/network/algorithms/cost.h"
#include "tests/fakes/link_sums.h"

namespace orrery {
namespace flow_law_test {

using Kind = Collective::Kind;

struct Stream {
  std::vector<LinkId> path;
  double latency = 0, left = 0, rate = 0;
  int sent = 0, arrived = 0;
  bool sending = false;
  std::vector<double> in_flight;  // arrival times
};

// Starts every message that may start.
void start_messages(const FlowPattern& p, std::vector<Stream>& s) {
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (s[i].sending || s[i].sent == p.streams()[i].count) continue;
    bool ready = true;
    for (const auto& w : p.waits()) {
      if (w.stream != static_cast<int>(i)) continue;
      const auto o = static_cast<std::size_t>(w.other);
      ready = ready && s[o].arrived >= std::min(s[i].sent - w.lag + 1, p.streams()[o].count);
    }
    if (ready) s[i].sending = true, s[i].left = p.streams()[i].bytes.value();
  }
}

// Progressive filling: the link that gives its flows least, then the next.
void share_links(const Topology& t, std::vector<Stream>& s) {
  constexpr double kNoRate = -1, kNever = std::numeric_limits<double>::infinity();
  for (Stream& stream : s) stream.rate = kNoRate;
  std::vector<double> room;
  for (const Link& l : t.links()) room.push_back(l.bandwidth.value());
  const auto uses = [](const Stream& stream, std::size_t l) {
    if (!stream.sending || stream.rate != kNoRate) return std::ptrdiff_t{0};
    return std::count(stream.path.begin(), stream.path.end(), static_cast<LinkId>(l));
  };
  for (;;) {
    double least = kNever;
    std::size_t tightest = 0;
    for (std::size_t l = 0; l < room.size(); ++l) {
      std::ptrdiff_t flows = 0;
      for (const Stream& stream : s) flows += uses(stream, l);
      if (flows > 0 && room[l] / static_cast<double>(flows) < least)
        least = room[l] / static_cast<double>(flows), tightest = l;
    }
    if (least == kNever) return;
    for (Stream& stream : s) {
      if (uses(stream, tightest) == 0) continue;
      stream.rate = least;
      for (LinkId l : stream.path) room[static_cast<std::size_t>(l)] -= least;
    }
  }
}

// One pattern, message by message: rates of all messages from nothing after every event.
double reference_makespan(const Topology& t, const FlowPattern& p) {
  const auto& streams = p.streams();
  std::vector<Stream> s(streams.size());
  for (std::size_t i = 0; i < s.size(); ++i) {
    t.route(streams[i].from, streams[i].to, s[i].path);
    for (LinkId l : s[i].path)
      s[i].latency += t.links()[static_cast<std::size_t>(l)].latency.value();
  }
  double now = 0;
  for (;;) {
    start_messages(p, s);
    share_links(t, s);
    // The next end of a message or arrival.
    double step = std::numeric_limits<double>::infinity();
    for (const Stream& stream : s) {
      if (stream.sending) step = std::min(step, stream.left / stream.rate);
      for (double a : stream.in_flight) step = std::min(step, a - now);
    }
    if (step == std::numeric_limits<double>::infinity()) return now;
    step = std::max(step, 0.0);
    now += step;
    for (std::size_t i = 0; i < s.size(); ++i) {
      if (s[i].sending) {
        s[i].left -= s[i].rate * step;
        if (s[i].left <= 1e-9 * streams[i].bytes.value()) {
          s[i].sending = false;
          ++s[i].sent;
          s[i].in_flight.push_back(now + s[i].latency);
        }
      }
      auto& flying = s[i].in_flight;
      const auto landed = std::remove_if(flying.begin(), flying.end(),
                                         [&](double a) { return a <= now * (1 + 1e-12); });
      s[i].arrived += static_cast<int>(flying.end() - landed);
      flying.erase(landed, flying.end());
    }
  }
}

double makespan(const Topology& t, FlowPattern p, FlowOptions options = {}) {
  FlowProgram program;
  program.patterns.push_back(std::move(p));
  program.ops.push_back(FlowOp::run("pattern", 0));
  return simulate_flows(t, program, options).makespan.value();
}

Topology random_topology() {
  const auto rate = [] {
    return BytesPerSecond(*rc::gen::elementOf(std::vector<double>{1e9, 2e9, 7e9}));
  };
  const Seconds latency(*rc::gen::elementOf(std::vector<double>{0, 1e-6, 3e-4}));
  const int a = *rc::gen::inRange(2, 5), b = *rc::gen::inRange(1, 4);
  const auto wiring = [] {
    return *rc::gen::elementOf(
        std::vector<Wiring>{Wiring::kRing, Wiring::kLine, Wiring::kMesh, Wiring::kSwitch});
  };
  return dimensions_topology({{wiring(), a, rate(), latency}, {wiring(), b, rate(), latency}});
}

RC_GTEST_PROP(FlowLaw, EqualsTheObviousSimulation, ()) {
  const Topology t = random_topology();
  FlowPattern p;
  const int streams = *rc::gen::inRange(1, 9);
  for (int i = 0; i < streams; ++i) {
    const int from = *rc::gen::inRange(0, t.gpus());
    const int to = (from + *rc::gen::inRange(1, t.gpus())) % t.gpus();
    p.send(from, to, Bytes(*rc::gen::elementOf(std::vector<double>{1e5, 1e6, 3.3e6})),
           *rc::gen::inRange(1, 40));
    if (i > 0 && *rc::gen::arbitrary<bool>()) {
      p.wait(i, *rc::gen::inRange(0, i), *rc::gen::inRange(0, 3));
    }
  }
  const double slow = reference_makespan(t, p), fast = makespan(t, p);
  RC_ASSERT(std::abs(fast - slow) <= 1e-6 * slow);
}

FlowCollective of(Kind kind, CollectiveAlgorithm algorithm, double bytes) {
  FlowCollective c;
  c.kind = kind;
  c.algorithm = algorithm;
  c.bytes = Bytes(bytes);
  return c;
}
double collective_time(const Topology& t, const FlowCollective& c) {
  FlowProgram p;
  FlowCollectives collectives(p);
  collectives.add(c, collectives.groups(strided_groups(t.gpus(), 1, t.gpus())));
  return simulate_flows(t, p).makespan.value();
}

constexpr double kBandwidth = 50e9, kLatency = 3e-6;
Topology single_switch(int gpus) {
  return dimensions_topology(
      {{Wiring::kSwitch, gpus, BytesPerSecond(kBandwidth), Seconds(kLatency)}});
}

TEST(FlowLaw, TheAnalyticalEquationsHoldWithoutContention) {
  CostCurve ring, direct;
  ring.step = Seconds(kLatency);
  direct.latency = Seconds(kLatency);
  for (int n = 2; n <= 256; n *= 2) {
    const Topology t = single_switch(n);
    for (double bytes : {1e4, 1e6, 1e8}) {
      const auto expect = [&](Kind kind, CollectiveAlgorithm flow, const CostCurve& curve,
                              CollectiveAlgorithm analytical) {
        const double by_hand =
            curve_time(curve, kind, analytical, n, Bytes(bytes), BytesPerSecond(kBandwidth))
                .total.value();
        EXPECT_NEAR(collective_time(t, of(kind, flow, bytes)), by_hand, 0.03 * by_hand)
            << to_text(kind) << ' ' << n << ' ' << bytes;
      };
      expect(Kind::kAllReduce, CollectiveAlgorithm::kRing, ring, CollectiveAlgorithm::kRing);
      expect(Kind::kAllGather, CollectiveAlgorithm::kRing, ring, CollectiveAlgorithm::kRing);
      expect(Kind::kReduceScatter, CollectiveAlgorithm::kRing, ring, CollectiveAlgorithm::kRing);
      // All messages of an all-to-all are under way at once: one latency.
      const double all_to_all = kLatency + (n - 1.0) / n * bytes / kBandwidth;
      EXPECT_NEAR(collective_time(t, of(Kind::kAllToAll, CollectiveAlgorithm::kDirect, bytes)),
                  all_to_all, 0.03 * all_to_all);
    }
  }
}

TEST(FlowLaw, ATreeFillsAndThenStreams) {
  // A broadcast in c chunks down a binary tree of 2^k - 1: an inner vertex sends each chunk twice,
  // so the last chunk leaves the root after 2 S / B and then falls k - 2 levels more.
  for (int k = 3; k <= 8; ++k) {
    FlowCollective c = of(Kind::kBroadcast, CollectiveAlgorithm::kTree, 1e8);
    c.chunks = 50;
    const double chunk = 2e8 / 50 / kBandwidth;
    const double expected = 50 * chunk + (k - 2) * chunk + (k - 1) * kLatency;
    EXPECT_NEAR(collective_time(single_switch((1 << k) - 1), c), expected, 0.03 * expected) << k;
  }
}

RC_GTEST_PROP(FlowLaw, AllReduceIsReduceScatterAndAllGather, ()) {
  const int n = *rc::gen::inRange(2, 40);
  const double bytes = *rc::gen::inRange(1, 1'000'000'000);
  const Topology t = single_switch(n);
  const double both =
      collective_time(t, of(Kind::kReduceScatter, CollectiveAlgorithm::kRing, bytes)) +
      collective_time(t, of(Kind::kAllGather, CollectiveAlgorithm::kRing, bytes));
  const double whole = collective_time(t, of(Kind::kAllReduce, CollectiveAlgorithm::kRing, bytes));
  RC_ASSERT(std::abs(whole - both) <= 1e-9 * both);
}

RC_GTEST_PROP(FlowLaw, NothingBeatsACutAndMoreBytesTakeLonger, ()) {
  NodePlan node;
  node.count = *rc::gen::elementOf(std::vector<int>{1, 2, 4});
  node.gpus = *rc::gen::elementOf(std::vector<int>{2, 4, 8});
  node.bandwidth = BytesPerSecond(400e9);
  node.latency = Seconds(1e-6);
  node.inside =
      *rc::gen::elementOf(std::vector<Inside>{Inside::kSwitch, Inside::kMesh, Inside::kBus});
  node.ports = *rc::gen::elementOf(std::vector<int>{1, node.gpus});
  node.port_bandwidth = BytesPerSecond(50e9);
  node.port_latency = Seconds(3e-6);
  ClusterPlan plan;
  plan.nodes = {node};
  plan.network.rails = node.ports > 1 && *rc::gen::arbitrary<bool>();
  plan.network.tiers = {{2, *rc::gen::elementOf(std::vector<double>{1, 4})}};
  const Topology t = cluster_topology(plan);
  const int n = t.gpus();
  const auto [kind, algorithm] =
      *rc::gen::elementOf(std::vector<std::pair<Kind, CollectiveAlgorithm>>{
          {Kind::kAllReduce, CollectiveAlgorithm::kRing},
          {Kind::kAllReduce, CollectiveAlgorithm::kTree},
          {Kind::kAllReduce, CollectiveAlgorithm::kHierarchical},
          {Kind::kAllReduce, CollectiveAlgorithm::kHalvingDoubling},
          {Kind::kAllGather, CollectiveAlgorithm::kBidirectionalRing},
          {Kind::kReduceScatter, CollectiveAlgorithm::kDirect},
          {Kind::kAllToAll, CollectiveAlgorithm::kDirect}});
  const double bytes = *rc::gen::inRange(1, 1'000'000'000);
  FlowCollective c = of(kind, algorithm, bytes);
  c.inner = node.gpus;
  c.chunks = 4;
  const double time = collective_time(t, c);
  // Lower bound: the bytes that must leave a GPU, and a node, over the bandwidth of their links.
  const double factor = kind == Kind::kAllReduce ? 2 : 1;
  double least = factor * (n - 1.0) / n * bytes / out_bandwidth(t, 0).value();
  if (node.count > 1) {
    const double share = kind == Kind::kAllToAll ? node.gpus * (n - node.gpus) / double(n)
                                                 : factor * (node.count - 1.0) / node.count;
    least = std::max(least, share * bytes / (node.ports * 50e9));
  }
  RC_ASSERT(time >= least * (1 - 1e-9));
  c.bytes = Bytes(2 * bytes);
  RC_ASSERT(collective_time(t, c) >= time * (1 - 1e-9));
}

TEST(FlowLaw, SubgroupsOfASwitchDoNotDisturbEachOther) {
  // Eight rings of 4 on separate links take the same time as one ring.
  const Topology t = single_switch(32);
  const auto time = [&](std::vector<std::vector<int>> groups) {
    FlowProgram p;
    FlowCollectives collectives(p);
    collectives.add(of(Kind::kAllReduce, CollectiveAlgorithm::kRing, 1e8),
                    collectives.groups(std::move(groups)));
    return simulate_flows(t, p).makespan.value();
  };
  EXPECT_DOUBLE_EQ(time(strided_groups(4, 1, 32)), time({{0, 1, 2, 3}}));
  EXPECT_DOUBLE_EQ(time(strided_groups(4, 8, 32)), time({{0, 8, 16, 24}}));
}

TEST(FlowLaw, TheSameInputGivesTheSameTimes) {
  Topology t = single_switch(24);
  t.degrade("gpu5", 0.7);
  const FlowCollective c = of(Kind::kAllReduce, CollectiveAlgorithm::kTree, 12345678);
  EXPECT_EQ(collective_time(t, c), collective_time(t, c));
}

}  // namespace flow_law_test
}  // namespace orrery
