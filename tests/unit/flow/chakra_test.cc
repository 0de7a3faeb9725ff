#include "orrery/flow/chakra/chakra.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/base/node.h"
#include "orrery/flow/chakra/chakra_groups.h"
#include "orrery/flow/chakra/chakra_replay.h"
#include "orrery/flow/simulation/flow_simulation.h"
#include "orrery/flow/topology/topology_build.h"

namespace orrery {
namespace chakra_test {

using Type = ChakraNode::Type;
using Comm = ChakraNode::Comm;

ChakraNode compute(std::uint64_t id, double us, std::vector<std::uint64_t> depends = {}) {
  ChakraNode n;
  n.id = id;
  n.name = "compute";
  n.type = Type::kComp;
  n.duration = microseconds(us);
  n.depends = std::move(depends);
  return n;
}
ChakraNode collective(std::uint64_t id, Comm comm, double bytes,
                      std::vector<std::uint64_t> depends = {}) {
  ChakraNode n;
  n.id = id;
  n.name = "collective";
  n.type = Type::kCollective;
  n.comm = comm;
  n.size = Bytes(bytes);
  n.depends = std::move(depends);
  return n;
}
ChakraNode message(std::uint64_t id, Type type, int from, int to, double bytes,
                   std::vector<std::uint64_t> depends = {}) {
  ChakraNode n;
  n.id = id;
  n.name = "message";
  n.type = type;
  n.from = from;
  n.to = to;
  n.size = Bytes(bytes);
  n.depends = std::move(depends);
  return n;
}

TEST(Chakra, ReadsTheWireFormat) {
  // A GlobalMetadata of nothing; node 1, a COMP_NODE of 5 us; node 3 "ar", a COMM_COLL_NODE after
  // node 1 (a packed control dependency), with comm_type = 7 as int64_val, comm_size = 300 as
  // uint64_val, and an attribute "z" with an empty string_val.
  using namespace std::string_literals;
  const std::string file =
      "\x00"s
      "\x06\x08\x01\x18\x04\x38\x05"s
      "\x32\x08\x03\x12\x02"s +
      "ar\x18\x07\x22\x01\x01"s + "\x52\x0d\x0a\x09"s + "comm_type\x48\x07"s + "\x52\x0e\x0a\x09"s +
      "comm_size\x68\xac\x02"s + "\x52\x06\x0a\x01z\xea\x01\x00"s;
  const ChakraTrace t = parse_chakra(file, "hand.et");
  ASSERT_EQ(t.nodes.size(), 2u);
  EXPECT_EQ(t.nodes[0].type, Type::kComp);
  EXPECT_NEAR(t.nodes[0].duration.value(), 5e-6, 1e-15);
  EXPECT_EQ(t.nodes[1].id, 3u);
  EXPECT_EQ(t.nodes[1].name, "ar");
  EXPECT_EQ(t.nodes[1].depends, std::vector<std::uint64_t>{1});
  EXPECT_EQ(t.nodes[1].comm, Comm::kReduceScatter);
  EXPECT_DOUBLE_EQ(t.nodes[1].size.value(), 300);
}

ChakraTrace sample() {
  ChakraTrace t;
  t.version = "0.0.4";
  t.nodes = {compute(1, 10), collective(2, Comm::kAllGather, 1e6, {1}),
             message(3, Type::kSend, 0, 5, 12, {1, 2}), compute(7, 3, {3})};
  t.nodes[0].operations = 2.5e12;
  t.nodes[0].tensor = Bytes(4096);
  t.nodes[1].dimensions = {true, false};
  t.nodes[1].group = "tp";
  t.nodes[2].tag = 9;
  t.nodes[3].on_cpu = true;
  return t;
}

TEST(Chakra, WhatIsWrittenIsReadBack) {
  const ChakraTrace t = sample();
  const ChakraTrace back = parse_chakra(write_chakra(t), "back.et");
  EXPECT_EQ(back.version, t.version);
  EXPECT_EQ(back.nodes, t.nodes);
}

TEST(Chakra, CutAndBentFilesAreRefusedOrRead) {
  const std::string whole = write_chakra(sample());
  int refused = 0;
  for (std::size_t n = 0; n < whole.size(); ++n) {
    try {
      parse_chakra(whole.substr(0, n), "cut.et");
    } catch (const InputError& e) {
      ++refused;
      EXPECT_THAT(e.what(), testing::StartsWith("cut.et: "));
    }
  }
  EXPECT_GE(refused, static_cast<int>(whole.size()) - 5);  // whole nodes may be cut off
  for (std::size_t n = 0; n < whole.size(); ++n) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bent = whole;
      bent[n] = static_cast<char>(bent[n] ^ (1 << bit));
      try {
        parse_chakra(bent, "bent.et");
      } catch (const InputError&) {
      }
    }
  }
  EXPECT_THROW(parse_chakra("", "empty.et"), InputError);
  EXPECT_THROW(read_chakra("/nowhere/at/all"), InputError);
}

TEST(Chakra, OrderIsChecked) {
  ChakraTrace t;
  t.nodes = {compute(1, 1, {2}), compute(2, 1, {1})};
  EXPECT_THROW(parse_chakra(write_chakra(t), "circle.et"), InputError);
  t.nodes = {compute(1, 1, {9})};
  EXPECT_THROW(parse_chakra(write_chakra(t), "missing.et"), InputError);
  t.nodes = {compute(1, 1), compute(1, 1)};
  EXPECT_THROW(parse_chakra(write_chakra(t), "twice.et"), InputError);
}

constexpr double kBandwidth = 100e9, kLatency = 2e-6;

double replayed(const std::vector<ChakraTrace>& traces, int gpus, std::vector<int> dimensions = {},
                ChakraReplay replay = {}) {
  replay.gpus = gpus;
  replay.dimensions = std::move(dimensions);
  const Topology t =
      dimensions_topology({{Wiring::kSwitch, gpus, BytesPerSecond(kBandwidth), Seconds(kLatency)}});
  return simulate_flows(t, chakra_program(traces, replay)).makespan.value();
}

double ring(int n, double bytes) { return 2 * (n - 1) * (bytes / n / kBandwidth + kLatency); }

TEST(ChakraReplay, OneTraceRunsOnAnyNumberOfGpus) {
  ChakraTrace t;
  t.nodes = {compute(1, 100), collective(2, Comm::kAllReduce, 8e6, {1}), compute(3, 50, {2})};
  for (int gpus : {1, 4, 6, 64}) {
    EXPECT_NEAR(replayed({t}, gpus), 150e-6 + ring(gpus, 8e6), 1e-9) << gpus;
  }
  EXPECT_NEAR(replayed({t, t, t, t}, 16), 150e-6 + ring(16, 8e6), 1e-9);
}

TEST(ChakraReplay, ComputationsRunOneByOneBesideCollectives) {
  // A collective of 100 us overlaps with 3 x 50 us of independent work.
  ChakraTrace t;
  t.nodes = {compute(1, 50), compute(2, 50), compute(3, 50), collective(4, Comm::kAllReduce, 8e6)};
  EXPECT_NEAR(replayed({t}, 4), std::max(150e-6, ring(4, 8e6)), 1e-9);
  t.nodes[3].depends = {1};
  EXPECT_NEAR(replayed({t}, 4), std::max(150e-6, 50e-6 + ring(4, 8e6)), 1e-9);
}

TEST(ChakraReplay, DimensionsMakeGroups) {
  ChakraTrace t;
  t.nodes = {collective(1, Comm::kAllReduce, 8e6)};
  t.nodes[0].dimensions = {false, true};  // 4 groups of 2, 4 apart
  EXPECT_NEAR(replayed({t}, 8, {4, 2}), ring(2, 8e6), 1e-9);
  t.nodes[0].dimensions = {true, false};
  EXPECT_NEAR(replayed({t}, 8, {4, 2}), ring(4, 8e6), 1e-9);
  t.nodes[0].dimensions = {};
  EXPECT_NEAR(replayed({t}, 8, {4, 2}), ring(8, 8e6), 1e-9);
  ChakraReplay named;
  named.groups = read_communicator_groups(parse_json("{\"0\": [0, 1], \"1\": [2, 3, 4, 5]}", "g"));
  t.nodes[0].group = "7";  // not named: all ranks
  EXPECT_NEAR(replayed({t}, 8, {4, 2}, named), ring(8, 8e6), 1e-9);
}

// Two nodes of four GPUs, each with a port. A ring of every second GPU has two GPUs in each node
// and leaves it by two ports, so that a port carries half of the buffer 2(n-1)/n times.
TEST(ChakraReplay, StridedGroupsLeaveTheirNodesByAPortForEachMember) {
  constexpr double kPort = 10e9, kBytes = 800e6;
  const Topology t =
      dimensions_topology({{Wiring::kSwitch, 4, BytesPerSecond(100 * kPort), Seconds(0)},
                           {Wiring::kSwitch, 2, BytesPerSecond(kPort), Seconds(0)}});
  ChakraTrace trace;
  trace.nodes = {collective(1, Comm::kAllReduce, kBytes)};
  trace.nodes[0].group = "dp";
  const auto time = [&](std::vector<std::vector<int>> groups, int channels) {
    ChakraReplay replay;
    replay.gpus = 8;
    replay.dimensions = {4, 2};
    replay.inner = 4;
    replay.channels = channels;
    replay.groups["dp"] = std::move(groups);
    return simulate_flows(t, chakra_program({trace}, replay)).makespan.value();
  };
  const double once = 2 * 3.0 / 4 * kBytes / kPort;
  EXPECT_NEAR(time({{0, 2, 4, 6}, {1, 3, 5, 7}}, 1) / once, 1, 0.03);
  EXPECT_NEAR(time({{0, 2, 4, 6}, {1, 3, 5, 7}}, 4) / once, 0.5, 0.02);
  // Members that are no neighbours in a node share no run: one channel, each hop through ports.
  EXPECT_NEAR(time({{0, 4, 2, 6}, {1, 5, 3, 7}}, 4) / once, 1, 0.03);
}

TEST(ChakraReplay, GatherAndScatterPassTheFirstRanksLink) {
  // Three others share the first rank's link of 100 GB/s.
  ChakraTrace t;
  t.nodes = {collective(1, Comm::kGather, 8e6)};
  EXPECT_NEAR(replayed({t}, 4), 3 * 8e6 / kBandwidth + kLatency, 1e-9);
  t.nodes = {collective(1, Comm::kScatter, 8e6)};  // a quarter to each
  EXPECT_NEAR(replayed({t}, 4), 3 * 2e6 / kBandwidth + kLatency, 1e-9);
  // Two groups of two run at the same time; the next node waits for both.
  t.nodes = {collective(1, Comm::kGather, 8e6), compute(2, 50, {1})};
  t.nodes[0].dimensions = {true, false};
  EXPECT_NEAR(replayed({t}, 4, {2, 2}), 8e6 / kBandwidth + kLatency + 50e-6, 1e-9);
  EXPECT_NEAR(replayed({t}, 1), 50e-6, 1e-9);
  // By analytical times: a send of all that passes the first link.
  ChakraReplay analytical;
  analytical.collective_time = [](const Collective& c, int) {
    EXPECT_EQ(c.kind, Collective::Kind::kSend);
    return c.bytes / BytesPerSecond(kBandwidth);
  };
  t.nodes = {collective(1, Comm::kScatter, 8e6)};
  EXPECT_NEAR(replayed({t}, 4, {}, analytical), 3 * 2e6 / kBandwidth, 1e-9);
}

TEST(ChakraReplay, StagesPassMessagesOn) {
  // Two stages of two ranks each: 100 us, then 10 MB to the rank two further, then 40 us.
  std::vector<ChakraTrace> traces(4);
  for (int r = 0; r < 2; ++r) {
    traces[static_cast<std::size_t>(r)].nodes = {compute(1, 100),
                                                 message(2, Type::kSend, r, r + 2, 10e6, {1})};
    traces[static_cast<std::size_t>(r) + 2].nodes = {message(1, Type::kRecv, r, r + 2, 10e6),
                                                     compute(2, 40, {1})};
  }
  EXPECT_NEAR(replayed(traces, 4), 100e-6 + 10e6 / kBandwidth + kLatency + 40e-6, 1e-9);
  EXPECT_THROW(replayed(traces, 8), InputError);  // different traces, one for each GPU only
  traces[3].nodes.erase(traces[3].nodes.begin());
  traces[3].nodes[0].depends.clear();
  EXPECT_THROW(replayed(traces, 4), InputError);  // nobody receives
}

TEST(ChakraReplay, SlowRanksHoldTheirGroupUp) {
  std::vector<ChakraTrace> traces(4);
  for (std::size_t r = 0; r < 4; ++r) {
    traces[r].nodes = {compute(1, r == 2 ? 300 : 100), collective(2, Comm::kAllReduce, 8e6, {1})};
  }
  EXPECT_NEAR(replayed(traces, 4), 300e-6 + ring(4, 8e6), 1e-7);
  traces[1].nodes[1].size = Bytes(9e6);
  EXPECT_THROW(replayed(traces, 4), InputError);  // of different sizes
  traces[1].nodes.pop_back();
  EXPECT_THROW(replayed(traces, 4), InputError);  // rank 1 never comes
}

TEST(ChakraReplay, WorkWithoutDurationNeedsAGpu) {
  ChakraTrace t;
  t.nodes = {compute(1, 0)};
  t.nodes[0].operations = 1e12;
  t.nodes[0].tensor = Bytes(1e9);
  EXPECT_THROW(replayed({t}, 2), InputError);
  ChakraReplay gpu;
  gpu.peak = FlopsPerSecond(1e15);
  gpu.memory_bandwidth = BytesPerSecond(2e12);
  EXPECT_NEAR(replayed({t}, 2, {}, gpu), 1e-3, 1e-9);
  t.nodes[0].tensor = Bytes(4e9);
  EXPECT_NEAR(replayed({t}, 2, {}, gpu), 2e-3, 1e-9);
}

TEST(ChakraReplay, AProgramOfOursBecomesATrace) {
  Program p;
  p.layers = 3;
  Gemm g;
  g.m = 64, g.n = 128, g.k = 256;
  const auto reduce = [](int ranks) {
    Collective c;
    c.ranks = ranks;
    c.bytes = Bytes(8e6);
    return c;
  };
  p.ops = {{g, 1, "embed", Part::kEmbedding},
           {g, 3, "qkv", Part::kAttention},
           {reduce(4), 6, "tp_all_reduce", Part::kCommunication},
           {g, 1, "lm_head", Part::kLmHead}};
  const ChakraTrace t = chakra_of(p, [](const Op&) { return microseconds(20); });
  ASSERT_EQ(t.nodes.size(), 1u + 3 * (1 + 2) + 1);
  EXPECT_EQ(t.nodes[1].name, "qkv");
  EXPECT_EQ(t.nodes[2].type, Type::kCollective);
  EXPECT_EQ(t.nodes[4].name, "qkv");
  EXPECT_EQ(t.nodes.back().name, "lm_head");
  EXPECT_DOUBLE_EQ(t.nodes[0].operations, 2.0 * 64 * 128 * 256);
  const ChakraTrace back = parse_chakra(write_chakra(t), "ours.et");
  EXPECT_NEAR(replayed({back}, 8, {4, 2}), 5 * 20e-6 + 6 * ring(4, 8e6), 1e-9);
}

}  // namespace chakra_test
}  // namespace orrery
