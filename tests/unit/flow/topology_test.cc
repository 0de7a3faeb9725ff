#include "orrery/flow/topology/topology.h"

#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/flow/topology/topology_build.h"
#include "orrery/hardware/catalog.h"
#include "tests/fakes/link_sums.h"

namespace orrery {
namespace topology_test {

constexpr BytesPerSecond kRate{1e9};
constexpr Seconds kHop{1e-6};

std::vector<std::string> names(const Topology& t, int from, int to) {
  std::vector<LinkId> path;
  t.route(from, to, path);
  std::vector<std::string> out;
  for (LinkId l : path) out.push_back(t.link_name(l));
  return out;
}

// A path joins its ends, link by link.
void expect_connected(const Topology& t, int from, int to) {
  std::vector<LinkId> path;
  t.route(from, to, path);
  VertexId at = from;
  for (LinkId l : path) {
    const Link& link = t.links()[static_cast<std::size_t>(l)];
    ASSERT_EQ(link.from, at) << t.name() << ' ' << from << "->" << to;
    at = link.to;
  }
  ASSERT_EQ(at, to) << t.name() << ' ' << from << "->" << to;
}

TEST(Topology, RingsGoTheShorterWay) {
  const Topology t = dimensions_topology({{Wiring::kRing, 5, kRate, kHop}});
  EXPECT_EQ(names(t, 0, 2), (std::vector<std::string>{"gpu0->gpu1", "gpu1->gpu2"}));
  EXPECT_EQ(names(t, 0, 4), (std::vector<std::string>{"gpu0->gpu4"}));
}

TEST(Topology, ToriRouteDimensionByDimension) {
  const Topology t =
      dimensions_topology({{Wiring::kRing, 4, kRate, kHop}, {Wiring::kRing, 3, kRate, kHop}});
  EXPECT_EQ(names(t, 0, 5), (std::vector<std::string>{"gpu0->gpu1", "gpu1->gpu5"}));
}

TEST(Topology, PathsOfEveryKindAreConnected) {
  std::vector<Topology> all;
  all.push_back(dimensions_topology({{Wiring::kRing, 4, kRate, kHop},
                                     {Wiring::kMesh, 3, kRate, kHop},
                                     {Wiring::kSwitch, 2, kRate, kHop},
                                     {Wiring::kLine, 3, kRate, kHop}}));
  NodePlan n;
  n.count = 5;
  n.bandwidth = kRate;
  n.latency = kHop;
  n.port_bandwidth = kRate;
  for (Inside inside :
       {Inside::kSwitch, Inside::kMesh, Inside::kCubeMesh, Inside::kBus, Inside::kTorus}) {
    for (int ports : {2, 8, 16}) {
      for (bool rails : {false, true}) {
        n.inside = inside;
        n.torus = {2, 4};
        n.ports = ports;
        n.bridged = inside == Inside::kBus ? 2 : 0;
        n.bridge_bandwidth = kRate;
        ClusterPlan plan;
        plan.nodes = {n, n};
        plan.network.rails = rails;
        plan.network.tiers = {{2}, {2}};
        plan.network.spines = 2;
        all.push_back(cluster_topology(plan));
        plan.network.kind = NetworkPlan::Kind::kSwitch;
        all.push_back(cluster_topology(plan));
        if (rails) continue;
        plan.network.kind = NetworkPlan::Kind::kDragonfly;
        plan.network.nodes_per_router = 1;
        plan.network.routers_per_group = 3;
        plan.network.local_bandwidth = plan.network.global_bandwidth = kRate;
        all.push_back(cluster_topology(plan));
      }
    }
  }
  for (const Topology& t : all) {
    for (int a = 0; a < t.gpus(); ++a) {
      for (int b = 0; b < t.gpus(); ++b) expect_connected(t, a, b);
    }
  }
}

TEST(Topology, RailsForwardInsideTheNode) {
  NodePlan n;
  n.count = 2;
  n.gpus = 2;
  n.bandwidth = n.port_bandwidth = kRate;
  n.ports = 2;
  ClusterPlan plan;
  plan.nodes = {n};
  plan.network.rails = true;
  const Topology t = cluster_topology(plan);
  EXPECT_EQ(names(t, 0, 3), (std::vector<std::string>{"gpu0->node0.switch", "node0.switch->gpu1",
                                                      "gpu1->rail1.leaf0", "rail1.leaf0->gpu3"}));
}

TEST(Topology, OversubscriptionHalvesTheUplinks) {
  NodePlan n;
  n.count = 4;
  n.gpus = 1;
  n.ports = 1;
  n.port_bandwidth = kRate;
  ClusterPlan plan;
  plan.nodes = {n};
  plan.network.tiers = {{2, 2.0}};
  const Topology t = cluster_topology(plan);
  const auto up = t.find("leaf0->top");
  ASSERT_EQ(up.size(), 1u);
  // Two ports of 1 GB/s below the switch, half of that bandwidth above it.
  EXPECT_DOUBLE_EQ(t.links()[static_cast<std::size_t>(up[0])].bandwidth.value(), 1e9);
}

TEST(Topology, FailuresAreGoneRound) {
  Topology t = dimensions_topology({{Wiring::kRing, 4, kRate, kHop}});
  t.degrade("gpu0->gpu1", 0);
  EXPECT_EQ(names(t, 0, 1), (std::vector<std::string>{"gpu0->gpu3", "gpu3->gpu2", "gpu2->gpu1"}));
  EXPECT_EQ(names(t, 1, 0), (std::vector<std::string>{"gpu1->gpu0"}));
  t.degrade("gpu0-gpu3", 0);
  EXPECT_THROW(names(t, 0, 1), InputError);  // nothing leaves GPU 0
  EXPECT_EQ(names(t, 2, 0), (std::vector<std::string>{"gpu2->gpu1", "gpu1->gpu0"}));
}

TEST(Topology, LinksAreFoundByName) {
  Topology t = dimensions_topology({{Wiring::kSwitch, 4, kRate, kHop}});
  EXPECT_EQ(t.find("gpu1-switch0.0").size(), 2u);
  EXPECT_EQ(t.find("gpu1->switch0.0").size(), 1u);
  EXPECT_EQ(t.find("switch0.0").size(), 8u);
  EXPECT_THROW(t.find("gpu9"), InputError);
  EXPECT_THROW(t.find("gpu0-gpu1"), InputError);
  EXPECT_THROW(t.find(""), InputError);
  EXPECT_THROW(t.find("->"), InputError);
  EXPECT_THROW(t.degrade("gpu1", 2), InputError);
}

TEST(Topology, BadPlansAreRefused) {
  EXPECT_THROW(dimensions_topology({}), InputError);
  EXPECT_THROW(dimensions_topology({{Wiring::kRing, 0, kRate, kHop}}), InputError);
  EXPECT_THROW(dimensions_topology({{Wiring::kRing, 4, BytesPerSecond(0), kHop}}), InputError);
  EXPECT_THROW(dimensions_topology({{Wiring::kMesh, 1'000'000, kRate, kHop}}), InputError);
  EXPECT_THROW(dimensions_topology({{Wiring::kRing, 1'000'000, kRate, kHop},
                                    {Wiring::kRing, 1'000'000, kRate, kHop}}),
               InputError);
  ClusterPlan plan;
  EXPECT_THROW(cluster_topology(plan), InputError);
  plan.nodes.emplace_back();
  EXPECT_THROW(cluster_topology(plan), InputError);  // no bandwidth
}

TEST(Topology, NodesOfTheCatalogHaveTheirFabrics) {
  const Catalog catalog;
  // HGX H100: 450 GB/s each way into the NVSwitch, eight ports of 50 GB/s on rails.
  const Topology hgx = cluster_topology(plan_of(Cluster(catalog, catalog.gpu("h100-sxm"), 16)));
  EXPECT_EQ(hgx.gpus(), 16);
  EXPECT_DOUBLE_EQ(out_bandwidth(hgx, 0).value(), 450e9 + 50e9);
  EXPECT_EQ(names(hgx, 3, 11),
            (std::vector<std::string>{"gpu3->rail3.leaf0", "rail3.leaf0->gpu11"}));
  // DGX-1 V100: six NVLinks of 25 GB/s, two of them to GPU 3, none to GPU 5.
  const NodePlan dgx = plan_of(catalog, catalog.node_type("dgx1-v100"));
  EXPECT_EQ(dgx.inside, Inside::kCubeMesh);
  ClusterPlan one;
  one.nodes = {dgx};
  const Topology cube = cluster_topology(one);
  EXPECT_DOUBLE_EQ(
      cube.links()[static_cast<std::size_t>(cube.find("gpu0->gpu3")[0])].bandwidth.value(), 50e9);
  EXPECT_EQ(names(cube, 0, 5).size(), 2u);
  // A slice of 64 TPU v4: a torus of 4 x 4 x 4 with 50 GB/s a link.
  const Topology tpu = cluster_topology(plan_of(Cluster(catalog, catalog.gpu("tpu-v4"), 64)));
  EXPECT_DOUBLE_EQ(out_bandwidth(tpu, 0).value(), 300e9);
  EXPECT_EQ(names(tpu, 0, 63).size(), 3u);  // one step each way round
  // Every node of the catalog makes a topology.
  for (const std::string& id : catalog.node_type_ids()) {
    ClusterPlan plan;
    plan.nodes = {plan_of(catalog, catalog.node_type(id))};
    if (plan.nodes[0].gpus > 1024) continue;
    const Topology t = cluster_topology(plan);
    expect_connected(t, 0, t.gpus() - 1);
  }
}

}  // namespace topology_test
}  // namespace orrery
