// Leaf switches whose uplinks carry less than their ports.
#include "orrery/network/wires/uplinks.h"

#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/base/node.h"
#include "orrery/network/collectives/make_network.h"

namespace orrery {
namespace uplinks_test {

class Uplinks : public ::testing::Test {
 protected:
  Cluster cluster(int gpus, int leaf_nodes, double oversubscription) const {
    NodeType node = catalog_.node_type("hgx-h100");
    node.network.leaf_nodes = leaf_nodes;
    node.network.oversubscription = oversubscription;
    return {catalog_, catalog_.gpu("h100-sxm"), gpus, node};
  }
  double share(int ranks, int stride, UplinkPattern pattern) const {
    const Cluster c = cluster(ranks * stride, 4, 2);
    return uplink_share(c, c.link(ranks, stride), stride, pattern);
  }
  // Time over that with full uplinks.
  double slower(Collective::Kind kind, int ranks, int stride, double oversubscription,
                double bytes = 8e9) const {
    const Collective c{kind, Collective::Group::kData, ranks, Bytes(bytes)};
    const auto time = [&](double over) {
      return make_network_model(cluster(ranks * stride, 4, over), {.tp = stride, .dp = ranks},
                                "nccl", Bundle())
          ->predict(c)
          .time;
    };
    return time(oversubscription).value / time(1).value;
  }
  const Catalog catalog_;
};

// Leaves of four nodes of eight GPUs.
TEST_F(Uplinks, SharesAreCountedByHand) {
  using enum UplinkPattern;
  // 128 neighbouring GPUs are 16 nodes: every fourth hop of a ring leaves a leaf.
  EXPECT_DOUBLE_EQ(share(128, 1, kRing), 0.25);
  // Every 16th GPU: members two nodes apart; every 32nd: each below another leaf.
  EXPECT_DOUBLE_EQ(share(16, 16, kRing), 0.5);
  EXPECT_DOUBLE_EQ(share(16, 32, kRing), 1);
  EXPECT_DOUBLE_EQ(share(16, 64, kRing), 1);
  // 12 of the 15 others are below other leaves; two apart, 14 of 15.
  EXPECT_DOUBLE_EQ(share(128, 1, kAllPairs), 12.0 / 15);
  EXPECT_DOUBLE_EQ(share(16, 16, kAllPairs), 14.0 / 15);
  // 1/2 * 1/4 + 1/4 * 2/4 + 1/8 + 1/16.
  EXPECT_DOUBLE_EQ(share(128, 1, kTree), 0.125 + 0.125 + 0.125 + 0.0625);
  // Four nodes are below one leaf.
  for (const UplinkPattern p : {kRing, kTree, kAllPairs}) EXPECT_EQ(share(32, 1, p), 0);
}

TEST_F(Uplinks, TransfersWaitForThem) {
  using Kind = Collective::Kind;
  // Long messages of members below leaves of their own take the uplinks' share of the time.
  EXPECT_NEAR(slower(Kind::kAllGather, 16, 32, 2), 2, 0.02);
  EXPECT_NEAR(slower(Kind::kAllGather, 16, 32, 3), 3, 0.04);
  EXPECT_NEAR(slower(Kind::kAllToAll, 128, 1, 3), 3 * 12.0 / 15, 0.08);
  // A ring of neighbours has room on the uplinks, as has a group below one leaf.
  EXPECT_EQ(slower(Kind::kAllGather, 128, 1, 3), 1);
  EXPECT_EQ(slower(Kind::kAllReduce, 32, 1, 8), 1);
  EXPECT_EQ(slower(Kind::kAllToAll, 32, 1, 8), 1);
  // Small messages have no transfer that could wait.
  EXPECT_NEAR(slower(Kind::kAllReduce, 16, 32, 2, 1024), 1, 0.01);
}

TEST_F(Uplinks, ATermThatWasNotMeasuredWidensTheInterval) {
  const Collective c{Collective::Kind::kAllGather, Collective::Group::kData, 16, Bytes(8e9)};
  const auto time = [&](double over) {
    return make_network_model(cluster(512, 4, over), {.tp = 32, .dp = 16}, "nccl", Bundle())
        ->predict(c)
        .time;
  };
  EXPECT_GT(time(2).sigma(), time(1).sigma());
  EXPECT_EQ(time(2).origin, Origin::kTransferred);
  const auto narrow =
      make_network_model(cluster(512, 4, 2), {.tp = 32, .dp = 16}, "nccl", Bundle());
  EXPECT_NE(narrow->provenance(c).find("leaf switches of 4 nodes with uplinks 2:1"),
            std::string::npos);
  EXPECT_LE(time(2).quantile(0.05), time(1).value);
  EXPECT_GE(time(2).quantile(0.95), 3 * time(1).value);
}

TEST(UplinkKeys, OversubscriptionNeedsTheNodesOfALeaf) {
  const std::string head =
      "id: mine\ngpus: [h100-sxm]\ngpu_count: 8\nscale_up: nvlink4-nvswitch\nsources: [mine]\n";
  const auto read = [&](const char* network) {
    return read_node_type(parse_yaml(head + "network: " + network + "\n", "mine.yaml"));
  };
  EXPECT_THROW(read("{fabric: ib-ndr, ports: 8, oversubscription: 2}"), InputError);
  const NodeType node = read("{fabric: ib-ndr, ports: 8, leaf_nodes: 16, oversubscription: 2}");
  EXPECT_EQ(node.network.leaf_nodes, 16);
  EXPECT_EQ(node.network.oversubscription, 2);
}

}  // namespace uplinks_test
}  // namespace orrery
