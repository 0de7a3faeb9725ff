// Does Cluster name the fabric that connects a group of ranks, and its bandwidth?
#include "orrery/hardware/cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/hardware/segments.h"

namespace orrery {
namespace cluster_test {

Cluster cluster(std::string_view gpu, int gpus, std::string_view node = "") {
  const Catalog c;
  return Cluster(c, c.gpu(gpu), gpus, node);
}

double gb_per_s(BytesPerSecond b) { return b.value() / 1e9; }

TEST(Cluster, TakesTheNodeThatTheGpuNames) {
  const Cluster c = cluster("h100-sxm", 20);
  EXPECT_EQ(c.node_type().id, "hgx-h100");
  EXPECT_EQ(c.nodes(), 3);
  EXPECT_EQ(c.hosts(), 3);
  EXPECT_EQ(c.scale_up()->id, "nvlink4-nvswitch");
  EXPECT_EQ(c.bridge(), nullptr);
  EXPECT_DOUBLE_EQ(gb_per_s(c.network_per_gpu()), 50);  // one 400 Gbit/s port a GPU
}

TEST(Cluster, ANodeGroupUsesTheScaleUpFabric) {
  const Cluster c = cluster("h100-sxm", 32);
  const GroupLink tp = c.link(8);
  EXPECT_EQ(tp.fabric, c.scale_up());
  EXPECT_DOUBLE_EQ(gb_per_s(tp.bandwidth), 450);
  EXPECT_EQ(tp.ranks_per_node, 8);
  EXPECT_EQ(tp.nodes, 1);
  EXPECT_EQ(c.link(4, 2).fabric, c.scale_up());
}

TEST(Cluster, AGroupAcrossNodesUsesTheNetwork) {
  const Cluster c = cluster("h100-sxm", 32);
  const GroupLink dp = c.link(4, 8);  // tensor parallel inside, data parallel across
  EXPECT_EQ(dp.fabric->id, "ib-ndr");
  EXPECT_DOUBLE_EQ(gb_per_s(dp.bandwidth), 50);
  EXPECT_EQ(dp.ranks_per_node, 1);
  EXPECT_EQ(dp.nodes, 4);
  const GroupLink wide = c.link(16);
  EXPECT_EQ(wide.ranks_per_node, 8);
  EXPECT_EQ(wide.nodes, 2);
  const GroupLink mixed = c.link(8, 4);  // two of each node
  EXPECT_EQ(mixed.ranks_per_node, 2);
  EXPECT_EQ(mixed.nodes, 4);
}

// Groups of 3 lie at 0-2, 3-5, 6-8: the third one straddles two nodes of 8.
TEST(Cluster, AStraddlingGroupCountsForAll) {
  EXPECT_EQ(cluster("h100-sxm", 24).link(3).fabric->kind, FabricKind::kNic);
  EXPECT_EQ(cluster("h100-sxm", 6).link(3).fabric->kind, FabricKind::kSwitch);
}

TEST(Cluster, ARackIsOneDomain) {
  const Cluster c = cluster("gb200", 72);
  EXPECT_EQ(c.nodes(), 1);
  EXPECT_EQ(c.hosts(), 18);
  EXPECT_DOUBLE_EQ(gb_per_s(c.link(72).bandwidth), 900);
  EXPECT_EQ(cluster("gb200", 144).link(144).fabric->kind, FabricKind::kNic);
}

TEST(Cluster, BridgedPairsSitInsidePcie) {
  const Cluster c = cluster("h100-pcie", 8, "h100-pcie-nvlink-8x");
  EXPECT_EQ(c.link(2).fabric->id, "nvlink4-bridge");
  EXPECT_DOUBLE_EQ(gb_per_s(c.link(2).bandwidth), 300);
  EXPECT_EQ(c.link(4).fabric->id, "pcie5");
  EXPECT_DOUBLE_EQ(gb_per_s(c.link(4).bandwidth), 63);
  EXPECT_EQ(c.link(2, 4).fabric->id, "pcie5");
  EXPECT_EQ(cluster("h100-pcie", 8).link(2).fabric->id, "pcie5");
}

TEST(Cluster, AMeshGivesAPairOneLink) {
  const Cluster c = cluster("mi300x", 8);
  EXPECT_DOUBLE_EQ(gb_per_s(c.link(2).bandwidth), 64);
  EXPECT_DOUBLE_EQ(gb_per_s(c.link(4).bandwidth), 192);
  EXPECT_DOUBLE_EQ(gb_per_s(c.link(8).bandwidth), 448);
}

// A800 in an A100's node, and a card of eight PCIe lanes.
TEST(Cluster, TheGpusOwnLinkLimits) {
  const Catalog catalog;
  NodeType node = catalog.node_type("hgx-a100");
  node.gpus.clear();  // of any GPU
  const Cluster a800(catalog, catalog.gpu("a800-80g-sxm"), 8, node);
  EXPECT_DOUBLE_EQ(gb_per_s(a800.link(8).bandwidth), 200);
  EXPECT_DOUBLE_EQ(gb_per_s(cluster("b60", 8).link(8).bandwidth), 31.5);
}

TEST(Cluster, AwsNodesDivideTheirPorts) {
  EXPECT_DOUBLE_EQ(gb_per_s(cluster("a100-40g-sxm", 16, "p4d").network_per_gpu()), 6.25);
  EXPECT_DOUBLE_EQ(gb_per_s(cluster("h100-sxm", 16, "p5").network_per_gpu()), 50);
}

TEST(ClusterErrors, RefuseWhatCannotBe) {
  EXPECT_THROW(cluster("h100-sxm", 0), InputError);
  EXPECT_THROW(cluster("h100-sxm", -8), InputError);
  EXPECT_THROW(cluster("h100-sxm", 8, "hgx-nothing"), InputError);
  EXPECT_THROW(cluster("m1", 2), Infeasible);
  const Cluster c = cluster("h100-sxm", 16);
  EXPECT_THROW(c.link(1), InputError);
  EXPECT_THROW(c.link(32), InputError);
  EXPECT_THROW(c.link(4, 8), InputError);
  EXPECT_THROW(c.link(2, 0), InputError);
  EXPECT_THROW(c.link(2147483647, 2147483647), InputError);
}

// 256 GPUs on racks of 72 are four segments of 64, so that groups of 32 stay inside a rack; 288
// GPUs fill four racks. A job on one rack, and a job without equal segments, use whole racks.
TEST(Segments, RacksAreTakenInEqualParts) {
  const NodeType rack = Catalog().node_type("gb200-nvl72");
  const auto of = [&](int gpus) { return in_segments(rack, gpus); };
  EXPECT_EQ(of(256).gpu_count, 64);
  EXPECT_EQ(of(256).network.ports, 64);
  EXPECT_EQ(of(288).gpu_count, 72);
  EXPECT_EQ(of(72).gpu_count, 72);
  EXPECT_EQ(of(64).gpu_count, 72);
  EXPECT_EQ(of(96).gpu_count, 48);
  EXPECT_EQ(of(4 * 79).gpu_count, 72);  // a prime number of trays
  NodeType one_port = rack;
  one_port.network.ports = 1;
  EXPECT_EQ(in_segments(one_port, 256).network.ports, 1);
  const NodeType hgx = Catalog().node_type("hgx-h100");
  EXPECT_EQ(in_segments(hgx, 12).gpu_count, 8);
  const Catalog catalog;
  const Cluster job(catalog, catalog.gpu("gb200"), 256, of(256));
  EXPECT_EQ(job.link(32).fabric, job.scale_up());
  const Cluster whole = cluster("gb200", 256);
  EXPECT_EQ(whole.link(32).fabric, whole.network());
}

}  // namespace cluster_test
}  // namespace orrery
