// plan_of: the plans of the catalog's nodes and clusters.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "orrery/flow/topology/topology_build.h"

namespace orrery {
namespace {

// Sizes whose product is `gpus`, as close to each other as possible, the smallest first.
std::vector<std::int64_t> near_cube(int gpus, int dimensions) {
  std::vector<std::int64_t> sizes;
  std::int64_t left = gpus;
  for (int d = dimensions; d > 1; --d) {
    auto best =
        static_cast<std::int64_t>(std::floor(std::pow(static_cast<double>(left), 1.0 / d) + 1e-9));
    while (left % best != 0) --best;
    sizes.push_back(best);
    left /= best;
  }
  sizes.push_back(left);
  return sizes;
}

NodePlan node_plan(const NodeType& type, const Fabric* scale_up, const Fabric* bridge,
                   const Fabric* network) {
  NodePlan n;
  n.gpus = type.gpu_count;
  if (scale_up != nullptr) {
    const Fabric& f = *scale_up;
    n.bandwidth = f.bandwidth();
    n.latency = f.latency;
    n.peer_to_peer = f.peer_to_peer;
    switch (f.kind) {
      case FabricKind::kMesh:
        n.inside = f.id.ends_with("cube-mesh") && n.gpus == 8 ? Inside::kCubeMesh : Inside::kMesh;
        n.cube_links = f.links;
        // A mesh of fewer GPUs than it could join leaves links unused.
        if (n.inside == Inside::kMesh && n.gpus > 1) n.bandwidth = f.bandwidth(n.gpus);
        break;
      case FabricKind::kBus:
        n.inside = Inside::kBus;
        break;
      case FabricKind::kTorus:
        n.inside = Inside::kTorus;
        n.torus = near_cube(n.gpus, std::max(1, f.links / 2));
        break;
      case FabricKind::kSwitch:
      case FabricKind::kNic:
        n.inside = Inside::kSwitch;
        break;
    }
  }
  if (bridge != nullptr) {
    n.bridged = type.bridge.gpus;
    n.bridge_bandwidth = bridge->bandwidth();
    n.bridge_latency = bridge->latency;
  }
  if (network != nullptr) {
    n.ports = type.network.ports;
    n.port_bandwidth = network->bandwidth();
    n.port_latency = network->latency;
  }
  return n;
}

}  // namespace

NodePlan plan_of(const Catalog& catalog, const NodeType& type) {
  const auto fabric = [&](const std::string& id) {
    return id.empty() ? std::optional<Fabric>() : catalog.fabric(id);
  };
  const auto scale_up = fabric(type.scale_up), bridge = fabric(type.bridge.fabric),
             network = fabric(type.network.fabric);
  const auto pointer = [](const std::optional<Fabric>& f) { return f ? &*f : nullptr; };
  return node_plan(type, pointer(scale_up), pointer(bridge), pointer(network));
}

ClusterPlan plan_of(const Cluster& cluster) {
  NodeType type = cluster.node_type();
  if (cluster.gpus() < type.gpu_count && type.bridge.fabric.empty()) {
    type.gpu_count = cluster.gpus();
  }
  NodePlan node = node_plan(type, cluster.scale_up(), cluster.bridge(), cluster.network());
  node.count = cluster.nodes();
  ClusterPlan plan;
  plan.name = fmt::format("{} x {}", node.count, cluster.node_type().id);
  plan.network.rails = node.count > 1 && node.ports >= node.gpus;
  plan.network.kind = node.count == 1 ? NetworkPlan::Kind::kNone : NetworkPlan::Kind::kSwitch;
  plan.nodes.push_back(std::move(node));
  return plan;
}

}  // namespace orrery
