// Where the parts of a cluster's topology stand, and the path between two of its GPUs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "orrery/flow/topology/topology.h"
#include "orrery/flow/topology/topology_build.h"

namespace orrery {

// Where a node's parts stand in the graph, and how its GPUs are numbered.
struct PlacedNode {
  NodePlan plan;
  int first_gpu = 0;
  LinkId inside = 0;  // first link of the inside
  LinkId bridge = 0;
  LinkId nic = 0;    // GPU to NIC and back, where GPUs share a port
  LinkId ports = 0;  // out of and into port p: ports + 2 p, + 1

  int port_of(int local) const {
    return static_cast<int>(static_cast<std::int64_t>(local) * used_ports() / plan.gpus);
  }
  // Several ports of one GPU count as one.
  int used_ports() const { return std::min(plan.ports, plan.gpus); }
  bool shared_ports() const { return plan.ports < plan.gpus; }
  // A GPU of the node on `port`, for `local` that stands on another one: the one at the same place
  // among the port's GPUs.
  int on_port(int local, int port) const {
    const int per = plan.gpus / used_ports();
    return std::min(port * plan.gpus / used_ports() + local % per, plan.gpus - 1);
  }
};

// One level of a fat tree's switches.
struct SwitchLevel {
  int span = 1;  // nodes below one switch
  int ways = 1;
  LinkId up = 0;  // links of switch s: up + 2 * (s * ways + way), + 1 down
  int switches = 0;
};

// The whole.
struct ClusterLayout {
  std::vector<PlacedNode> nodes;
  std::vector<int> node_of;  // of each GPU
  NetworkPlan network;
  std::vector<std::vector<SwitchLevel>> planes;  // of each rail, or one
  // Dragonfly: first links between routers of a group (from router r: local + r (routers of a group
  // - 1), nearest first) and between groups (the same with groups).
  LinkId local = 0, global = 0;
  int routers = 0, groups = 0;
  std::unique_ptr<Topology> cube;  // paths inside a DGX-1
};

// Which router of a dragonfly's group holds the link to another group: round robin.
int dragonfly_gateway(const ClusterLayout& l, int group, int other);

// Appends the links from one GPU to another.
void route(const ClusterLayout& l, int from, int to, std::vector<LinkId>& path);

}  // namespace orrery
