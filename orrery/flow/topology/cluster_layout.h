// The layout of a cluster's topology: which links belong to which part, and the path between two
// GPUs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "orrery/flow/topology/topology.h"
#include "orrery/flow/topology/topology_build.h"

namespace orrery {

// The links of a node, and the numbers of its GPUs.
struct PlacedNode {
  NodePlan plan;
  int first_gpu = 0;
  LinkId inside = 0;  // first link among the GPUs
  LinkId bridge = 0;
  LinkId nic = 0;    // links from and to the NIC, if GPUs share a port
  LinkId ports = 0;  // link out of port p: ports + 2 p; into it: ports + 2 p + 1

  int port_of(int local) const {
    return static_cast<int>(static_cast<std::int64_t>(local) * used_ports() / plan.gpus);
  }
  // Several ports of one GPU count as one.
  int used_ports() const { return std::min(plan.ports, plan.gpus); }
  bool shared_ports() const { return plan.ports < plan.gpus; }
  // The GPU on `port` that forwards for GPU `local` of another port: the one at the same place
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
  LinkId up = 0;  // link up from switch s: up + 2 * (s * ways + way); the next one leads down
  int switches = 0;
};

// The layout of a whole cluster.
struct ClusterLayout {
  std::vector<PlacedNode> nodes;
  std::vector<int> node_of;  // of each GPU
  NetworkPlan network;
  std::vector<std::vector<SwitchLevel>> planes;  // one for each rail, or a single one
  // Dragonfly: first link between routers of a group (those from router r begin at local + r *
  // (routers of a group - 1), the nearest router first), and between groups (likewise, with
  // groups).
  LinkId local = 0, global = 0;
  int routers = 0, groups = 0;
  std::unique_ptr<Topology> cube;  // paths inside a DGX-1
};

// The router of a dragonfly's group with the link to another group: round robin.
int dragonfly_gateway(const ClusterLayout& l, int group, int other);

// Appends the links from one GPU to another.
void route(const ClusterLayout& l, int from, int to, std::vector<LinkId>& path);

}  // namespace orrery
