// Builds topologies from their structure: products of dimensions (tori, single switches, NVLink
// domains, ASTRA-sim's networks) and clusters (nodes of any inside, joined by a network).
#pragma once

#include <string>
#include <vector>

#include "orrery/base/units.h"
#include "orrery/flow/topology/topology.h"
#include "orrery/hardware/cluster.h"

namespace orrery {

// How the GPUs along one dimension are joined.
enum class Wiring {
  kRing,    // links to both neighbours; a message goes the shorter way round
  kLine,    // the same without the wrap-around
  kMesh,    // a link to every other one
  kSwitch,  // a link to a switch and back
};

// `bandwidth` is that of one link, each way: of one ring direction, of one pair of a mesh, of one
// port of a switch. `latency` is from one GPU to the next: through a switch it is divided over the
// two links.
struct DimensionPlan {
  Wiring wiring = Wiring::kSwitch;
  int size = 1;
  BytesPerSecond bandwidth;
  Seconds latency;
};

// GPU number = c0 + size0 * (c1 + size1 * (c2 ...)). Messages travel dimension by dimension, the
// first one first (dimension-order routing); halfway round a ring those from even coordinates go
// up, others down. InputError: no dimension, a size below 1, more than kMostGpus GPUs.
Topology dimensions_topology(const std::vector<DimensionPlan>& dimensions, std::string name = "");
inline constexpr int kMostGpus = 1'000'000;

// What joins the GPUs of one node.
enum class Inside {
  kSwitch,    // NVSwitch: all at full bandwidth
  kMesh,      // NVLink or xGMI: a GPU's links divided evenly among its peers
  kCubeMesh,  // DGX-1: eight GPUs, links of 1 or 2 lanes, others over a neighbour
  kBus,       // PCI Express: a tree of switches below the host
  kTorus,     // `torus` gives the sizes
};

struct NodePlan {
  int count = 1;  // such nodes in a row
  int gpus = 8;
  Inside inside = Inside::kSwitch;
  BytesPerSecond bandwidth;  // of one GPU, each way, all its links together; unused for 1 GPU
  Seconds latency;           // GPU to GPU
  std::vector<std::int64_t> torus;  // sizes of the dimensions; their product is `gpus`
  int cube_links = 6;               // kCubeMesh: NVLinks of a GPU: 6 (V100) or 4 (P100)
  int gpus_per_switch = 4;          // kBus: on one PCI Express switch
  bool peer_to_peer = true;         // kBus: false: through host memory, at half the bandwidth
  int bridged = 0;                  // groups of so many neighbours with links of their own; 0: none
  BytesPerSecond bridge_bandwidth;  // of one GPU, each way
  Seconds bridge_latency;
  int ports = 0;  // to the network, of the whole node
  BytesPerSecond port_bandwidth;
  Seconds port_latency;  // port to port through one switch
};

// One level of switches of a fat tree, from the nodes up.
struct TierPlan {
  int children = 32;            // nodes, or switches of the level below, under one switch
  double oversubscription = 1;  // bandwidth below over bandwidth above; 2: half is left
};

struct NetworkPlan {
  enum class Kind {
    kNone,       // one node
    kSwitch,     // one switch for all ports
    kFatTree,    // `tiers`, joined by a top level
    kDragonfly,  // groups of routers, all pairs of groups joined
  } kind = Kind::kFatTree;
  // Each port of a node has a network of its own (rail); GPU i uses port i * ports / gpus. To a GPU
  // of another rail a message first goes inside the sender's node to that rail (NCCL's PXN).
  bool rails = false;
  std::vector<TierPlan> tiers = std::vector<TierPlan>(1);
  // Switches of the top level among which the uplinks to it are divided; the receiver's number
  // chooses. 1: all uplinks as one, as where packets are sprayed.
  int spines = 1;
  Seconds hop_latency = microseconds(0.3);  // each further switch on the path
  // kDragonfly
  int nodes_per_router = 4, routers_per_group = 8;
  BytesPerSecond local_bandwidth, global_bandwidth;  // of one link between routers, groups
};

struct ClusterPlan {
  std::string name;
  std::vector<NodePlan> nodes;
  NetworkPlan network;
};

// Vertices: "node3.switch", "node3.pcie0", "node3.host", "node3.nic0" (where GPUs share a port),
// "leaf0" ("tier2.switch0", ..., "top"), with rails "rail1.leaf0"; of a dragonfly "router7".
// InputError: a plan that is not sound (the message says which part).
Topology cluster_topology(const ClusterPlan& plan);

// A node of the catalog: fabrics at nominal bandwidth. A TPU pod is a torus with sizes as near to
// each other as they can be.
NodePlan plan_of(const Catalog& catalog, const NodeType& type);

// A cluster of the catalog: whole nodes (the last one may hold GPUs beyond the cluster's; of a
// single node only the cluster's GPUs are there), their ports on one switch, or one for each rail
// where every GPU has a port of its own. The catalog knows ports and not what stands behind them;
// tiers and oversubscription are for topology files.
ClusterPlan plan_of(const Cluster& cluster);

}  // namespace orrery
