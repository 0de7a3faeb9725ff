// The rates of a server's cards over its PCI Express tree, worked out by hand.
#include "orrery/network/wires/pcie_rates.h"

#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/base/node.h"
#include "orrery/network/collectives/make_network.h"

namespace orrery {
namespace pcie_rates_test {

using Kind = Collective::Kind;

// Cards of PCIe 4: 31.5 GB/s each way.
class PcieTrees : public ::testing::Test {
 protected:
  Cluster server(PcieTree tree, int gpus = 8, const char* scale_up = "pcie4",
                 const char* bridge = "") const {
    NodeType node = catalog_.node_type("pcie4-8x");
    node.scale_up = scale_up;
    node.bridge.fabric = bridge;
    node.pcie = tree;
    return {catalog_, catalog_.gpu("a100-80g-pcie"), gpus, node};
  }
  static PcieTree sockets(double gigabytes) {
    PcieTree tree;
    tree.sockets = 2;
    tree.socket_bandwidth = BytesPerSecond(gigabytes * 1e9);
    return tree;
  }
  static PcieTree switches(int cards) {
    PcieTree tree;
    tree.sockets = 1;
    tree.switch_gpus = cards;
    return tree;
  }
  static double ring(const Cluster& c, int ranks, int stride = 1) {
    return pcie_rates(c, ranks, stride).ring.value() / 1e9;
  }
  static double pairs(const Cluster& c, int ranks, int stride = 1) {
    return pcie_rates(c, ranks, stride).pairs.value() / 1e9;
  }
  const Catalog catalog_;
};

TEST_F(PcieTrees, RingsCrossSocketsOnceEachWay) {
  EXPECT_DOUBLE_EQ(ring(server(sockets(16)), 8), 16);
  EXPECT_DOUBLE_EQ(ring(server(sockets(40)), 8), 31.5);
  // Four cards of one socket do not cross; four rings of every fourth card share the link.
  EXPECT_DOUBLE_EQ(ring(server(sockets(16)), 4), 31.5);
  EXPECT_DOUBLE_EQ(ring(server(sockets(16)), 2, 4), 4);
  // Four cards send 4 of 7 parts of an all-to-all across: 16/7 of what a card sends.
  EXPECT_DOUBLE_EQ(pairs(server(sockets(16)), 8), 7);
}

TEST_F(PcieTrees, RingsLeaveASwitchOnce) {
  EXPECT_DOUBLE_EQ(ring(server(switches(4)), 8), 31.5);
  // 4 cards send 4 of 7 parts through one uplink; two uplinks carry twice as much.
  EXPECT_DOUBLE_EQ(pairs(server(switches(4)), 8), 31.5 * 7 / 16);
  PcieTree two = switches(4);
  two.uplinks = 2;
  EXPECT_DOUBLE_EQ(pairs(server(two), 8), 31.5 * 7 / 8);
  // Without direct copies every hop passes the uplink.
  PcieTree host = switches(4);
  host.p2p_level = DirectCopies::kNever;
  EXPECT_DOUBLE_EQ(ring(server(host), 8), 31.5 / 4);
  EXPECT_DOUBLE_EQ(ring(server(switches(4), 8, "pcie4-no-p2p"), 8), 31.5 / 4);
}

// Every card takes part in one hop of a pair's two neighbours, out or in; rings go both ways.
TEST_F(PcieTrees, BridgedPairsUseTheLinksOfBothCards) {
  EXPECT_DOUBLE_EQ(ring(server(sockets(100), 8, "pcie4", "nvlink3-bridge"), 8), 63);
  EXPECT_DOUBLE_EQ(ring(server(sockets(16), 8, "pcie4", "nvlink3-bridge"), 8), 16);
  // A ring of three: the third card has no bridge, and both its hops pass its link.
  EXPECT_DOUBLE_EQ(ring(server(sockets(100), 3, "pcie4", "nvlink3-bridge"), 3), 31.5);
}

// Messages through host memory are written and read there. Two cards on AMD's CPUs copy directly,
// and Intel's lengthen such copies by a fifth.
TEST_F(PcieTrees, HostMemoryIsWrittenAndRead) {
  PcieTree tree = sockets(1000);
  tree.memory_bandwidth = BytesPerSecond(80e9);
  EXPECT_DOUBLE_EQ(ring(server(tree), 8), 10);  // 4 messages of a socket, twice each
  EXPECT_DOUBLE_EQ(ring(server(tree, 2), 2), 20);
  tree.cpu = CpuVendor::kAmd;
  EXPECT_DOUBLE_EQ(ring(server(tree), 8), 10);
  EXPECT_DOUBLE_EQ(ring(server(tree, 2), 2), 31.5);
  tree.cpu = CpuVendor::kIntel;
  tree.p2p_level = DirectCopies::kEverywhere;
  EXPECT_DOUBLE_EQ(ring(server(tree), 8), 31.5 * 5 / 6);
}

// Large messages follow the tree, and a described server is more certain than one that is not.
TEST_F(PcieTrees, TimesFollowTheTree) {
  const auto time = [&](const Cluster& c, Kind kind) {
    return make_network_model(c, {.tp = 8}, "nccl", Bundle())
        ->predict({kind, Collective::Group::kTensor, 8, Bytes(1e9)})
        .time;
  };
  for (const Kind kind : {Kind::kAllReduce, Kind::kAllGather}) {
    const double slow =
        time(server(sockets(8)), kind).value / time(server(sockets(16)), kind).value;
    EXPECT_GT(slow, 1.85) << to_text(kind);
    EXPECT_LT(slow, 2.05) << to_text(kind);
  }
  const Estimate<Seconds> known = time(server(sockets(16)), Kind::kAllReduce);
  const Estimate<Seconds> unknown = time(server({}), Kind::kAllReduce);
  EXPECT_LT(known.sigma(), 0.6 * unknown.sigma());
  EXPECT_GT(known.sigma(), 0.3);
  EXPECT_EQ(known.origin, Origin::kTransferred);
}

TEST_F(PcieTrees, ImpossibleTreesAreRefused) {
  const auto read = [](const std::string& pcie) {
    return read_node_type(parse_yaml(
        "id: x\ngpus: [l40s]\ngpu_count: 8\nscale_up: pcie4\npcie: " + pcie + "\nsources: [test]\n",
        "x.yaml"));
  };
  EXPECT_THROW(read("{sockets: 3, socket_bandwidth: 16 GB/s}"), InputError);
  EXPECT_THROW(read("{sockets: 2}"), InputError);
  EXPECT_THROW(read("{sockets: 2, socket_bandwidth: 16 GB/s, switch_gpus: 8}"), InputError);
  EXPECT_THROW(read("{switch_gpus: 4}"), InputError);
  EXPECT_THROW(read("{sockets: 1, p2p_level: far}"), InputError);
  const NodeType node =
      read("{sockets: 2, socket_bandwidth: 16 GB/s, switch_gpus: 4, cpu: amd, p2p_level: sys}");
  EXPECT_EQ(node.pcie.switch_gpus, 4);
  EXPECT_EQ(node.pcie.p2p_level, DirectCopies::kEverywhere);
  EXPECT_FALSE(Catalog().node_type("pcie4-8x").pcie.described());
}

}  // namespace pcie_rates_test
}  // namespace orrery
