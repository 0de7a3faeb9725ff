#include "orrery/network/collectives/mixed_network.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "orrery/base/error.h"
#include "orrery/network/collectives/make_network.h"
#include "orrery/network/collectives/nccl_tuner.h"

namespace orrery {
namespace mixed_network_test {

using Kind = Collective::Kind;
using A = CollectiveAlgorithm;
using P = CollectiveProtocol;

const std::vector<std::string> kNodes = {"hgx-a100",    "hgx-h100", "hgx-h100-roce",
                                         "gcp-a3-mega", "hgx-h200", "hgx-b200"};
const std::vector<Kind> kKinds = {Kind::kAllReduce, Kind::kAllGather, Kind::kReduceScatter,
                                  Kind::kAllToAll,  Kind::kBroadcast, Kind::kSend,
                                  Kind::kReduce};

Cluster cluster(const std::string& node, int gpus) {
  const Catalog catalog;
  const NodeType type = catalog.node_type(node);
  return Cluster(catalog, catalog.gpu(type.gpus.at(0)), gpus, type);
}

std::unique_ptr<NetworkModel> mixed(const std::vector<std::string>& nodes, int gpus) {
  std::vector<Cluster> kinds;
  for (const std::string& n : nodes) kinds.push_back(cluster(n, gpus));
  return make_mixed_network(kinds, {.tp = 1, .pp = 1, .dp = gpus}, "nccl", Bundle());
}

Collective collective(Kind kind, int gpus, double bytes) {
  return {kind, Collective::Group::kData, gpus, Bytes(bytes)};
}

TEST(MixedNetwork, EqualKindsAreAnOrdinaryGroup) {
  for (const std::string& node : kNodes) {
    const auto two = mixed({node, node}, 32);
    const auto one =
        make_network_model(cluster(node, 32), {.tp = 1, .pp = 1, .dp = 32}, "nccl", Bundle());
    for (const Kind kind : kKinds) {
      for (double bytes = 1024; bytes < 1e11; bytes *= 32) {
        const Collective c = collective(kind, 32, bytes);
        EXPECT_EQ(two->predict(c).time.value, one->predict(c).time.value) << node;
        EXPECT_EQ(two->predict(c).algorithm, one->predict(c).algorithm) << node;
        EXPECT_EQ(two->bound(c), one->bound(c)) << node;
      }
    }
  }
}

RC_GTEST_PROP(MixedNetworkLaw, NoFasterThanAnyKindAloneAndInAnyOrder, ()) {
  const std::string first = *rc::gen::elementOf(kNodes), second = *rc::gen::elementOf(kNodes);
  const int gpus = 8 * *rc::gen::inRange(2, 65);
  const Collective c =
      collective(*rc::gen::elementOf(kKinds), gpus, std::exp2(*rc::gen::inRange(30, 350) / 10.0));
  const auto both = mixed({first, second}, gpus);
  const CollectiveTime t = both->predict(c);
  for (const std::string& node : {first, second}) {
    const auto alone =
        make_network_model(cluster(node, gpus), {.tp = 1, .pp = 1, .dp = gpus}, "nccl", Bundle());
    RC_ASSERT(t.time.value >= alone->predict(c).time.value);
    RC_ASSERT(both->bound(c) >= alone->bound(c));
  }
  RC_ASSERT(t.time.value >= both->bound(c));
  RC_ASSERT(t.time.value == mixed({second, first}, gpus)->predict(c).time.value);
  Collective more = c;
  more.bytes *= 1.5;
  RC_ASSERT(both->predict(more).time.value > t.time.value);
}

TEST(MixedNetwork, PairsThatAllOfferWithTheSlowestOfBoth) {
  NcclCosts a, b;
  a.add({A::kTree, P::kLl, {true, microseconds(20), BytesPerSecond(10e9), microseconds(2)}});
  a.add({A::kRing, P::kSimple, {true, microseconds(50), BytesPerSecond(40e9)}});
  a.add({A::kNvlsTree, P::kSimple, {true, microseconds(40), BytesPerSecond(90e9)}});
  b.add({A::kTree, P::kLl, {true, microseconds(21), BytesPerSecond(12e9), microseconds(8)}});
  b.add({A::kRing, P::kSimple, {true, microseconds(30), BytesPerSecond(20e9)}});
  const NcclCosts both = slowest(a, b);
  ASSERT_EQ(both.end() - both.begin(), 2);
  const NcclCost& tree = both.begin()->cost;
  // 18 us of the tuner's own in the one, 8 us of the NIC's in the other.
  EXPECT_NEAR(tree.latency / microseconds(1), 26, 1e-9);
  EXPECT_NEAR(tree.nic / microseconds(1), 8, 1e-9);
  EXPECT_EQ(tree.bandwidth, BytesPerSecond(10e9));
  const NcclCost& ring = (both.begin() + 1)->cost;
  EXPECT_NEAR(ring.latency / microseconds(1), 50, 1e-9);
  EXPECT_EQ(ring.bandwidth, BytesPerSecond(20e9));
}

// A100s have no reduction in the switch and half of the port bandwidth.
TEST(MixedNetwork, H100AndA100) {
  const auto both = mixed({"hgx-h100", "hgx-a100"}, 96);
  const Collective c = collective(Kind::kAllReduce, 96, 4e9);
  EXPECT_THROW(both->predict(c, ForcedChoice{A::kNvlsTree, {}}), InputError);
  // Eight ports of 25 GB/s a node, twelve nodes.
  EXPECT_NEAR(both->bound(c).value(), 4e9 / 8 * 2 * 11 / 12 / 25e9, 1e-9);
  const CollectiveTime t = both->predict(c);
  EXPECT_GT(t.time.own, 0);
  EXPECT_GE(t.time.shared, 0.25);
  EXPECT_GE(t.time.origin, Origin::kTransferred);
}

TEST(MixedNetwork, Refuses) {
  EXPECT_THROW(make_mixed_network({}, {.dp = 16}, "nccl", Bundle()), InputError);
  EXPECT_THROW(make_mixed_network({cluster("hgx-h100", 16), cluster("hgx-a100", 8)}, {.dp = 16},
                                  "nccl", Bundle()),
               InputError);
  EXPECT_THROW(make_mixed_network({cluster("hgx-h100", 16), cluster("mi300x-8x", 16)}, {.dp = 16},
                                  "nccl", Bundle()),
               InputError);
}

}  // namespace mixed_network_test
}  // namespace orrery
