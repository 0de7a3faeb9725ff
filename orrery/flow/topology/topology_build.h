// Builds topologies from their structure: products of dimensions (tori, single switches, NVLink
// domains, ASTRA-sim's networks), and clusters of nodes that a network joins.
#pragma once

#include <string>
#include <vector>

#include "orrery/base/units.h"
#include "orrery/flow/topology/topology.h"
#include "orrery/hardware/cluster.h"

namespace orrery {

// The links among the GPUs along one dimension.
enum class Wiring {
  kRing,    // a link to each of two neighbours; a message goes the shorter way round
  kLine,    // a ring without the link between the ends
  kMesh,    // a link to every other GPU
  kSwitch,  // a link to a switch, and one back
};

// `bandwidth` is that of one link, each way: one direction of a ring, one pair of a mesh, one port
// of a switch. `latency` is that from one GPU to the next; through a switch each of the two links
// has half of it.
struct DimensionPlan {
  Wiring wiring = Wiring::kSwitch;
  int size = 1;
  BytesPerSecond bandwidth;
  Seconds latency;
};

// The product of the dimensions: the GPU with coordinates c0, c1, ... has the number c0 + size0 *
// (c1 + size1 * (c2 ...)). A message travels along the first dimension, then along the second, ...
// (dimension-order routing). Halfway round a ring, messages from even coordinates go up, others
// down. InputError: no dimension, a size below 1, more than kMostGpus GPUs.
Topology dimensions_topology(const std::vector<DimensionPlan>& dimensions, std::string name = "");
inline constexpr int kMostGpus = 1'000'000;

// The links among the GPUs of one node.
enum class Inside {
  kSwitch,    // NVSwitch: full bandwidth between all GPUs
  kMesh,      // NVLink or xGMI: the links of a GPU, divided evenly among its peers
  kCubeMesh,  // DGX-1: eight GPUs with one or two links to some others, and paths over a neighbour
  kBus,       // PCI Express: a tree of switches below the host
  kTorus,     // `torus` gives the sizes
};

struct NodePlan {
  int count = 1;  // number of consecutive nodes of this kind
  int gpus = 8;
  Inside inside = Inside::kSwitch;
  BytesPerSecond bandwidth;         // of all links of one GPU, each way; unused for 1 GPU
  Seconds latency;                  // GPU to GPU
  std::vector<std::int64_t> torus;  // sizes of the dimensions; their product is `gpus`
  int cube_links = 6;               // kCubeMesh: NVLinks of a GPU: 6 (V100) or 4 (P100)
  int gpus_per_switch = 4;          // kBus: on one PCI Express switch
  bool peer_to_peer = true;  // kBus: if false, messages pass through host memory, at half the rate
  int bridged = 0;           // size of groups of neighbours with links of their own; 0: none
  BytesPerSecond bridge_bandwidth;  // of one GPU, each way
  Seconds bridge_latency;
  int ports = 0;  // of the whole node, to the network
  BytesPerSecond port_bandwidth;
  Seconds port_latency;  // from port to port through one switch
};

// One level of switches of a fat tree, from the nodes up.
struct TierPlan {
  int children = 32;            // nodes, or switches of the level below, under one switch
  double oversubscription = 1;  // bandwidth below the switches over the bandwidth above them
};

struct NetworkPlan {
  enum class Kind {
    kNone,       // one node
    kSwitch,     // one switch for all ports
    kFatTree,    // `tiers`, joined by a top level
    kDragonfly,  // groups of routers, all pairs of groups joined
  } kind = Kind::kFatTree;
  // Each port of a node has a network of its own, a rail; GPU i uses port i * ports / gpus. A
  // message to a GPU of another rail first moves to that rail inside the sender's node (NCCL's
  // PXN).
  bool rails = false;
  std::vector<TierPlan> tiers = std::vector<TierPlan>(1);
  // Number of switches of the top level, among which the uplinks are divided; the receiver's number
  // chooses one. 1: all uplinks count as one, as in networks that spray packets.
  int spines = 1;
  Seconds hop_latency = microseconds(0.3);  // each further switch on the path
  // kDragonfly
  int nodes_per_router = 4, routers_per_group = 8;
  BytesPerSecond local_bandwidth;   // of one link between two routers of a group
  BytesPerSecond global_bandwidth;  // of one link between two groups
};

struct ClusterPlan {
  std::string name;
  std::vector<NodePlan> nodes;
  NetworkPlan network;
};

// The switches have the names "node3.switch", "node3.pcie0", "node3.host", "node3.nic0" (where GPUs
// share a port), "leaf0" ("tier2.switch0", ..., "top"), "rail1.leaf0" with rails, and "router7" in
// a dragonfly. InputError: an inconsistent plan; the message says which part.
Topology cluster_topology(const ClusterPlan& plan);

// The plan of a node of the catalog, with fabrics at their nominal bandwidth. A TPU pod is a torus
// whose sizes are as close to each other as possible.
NodePlan plan_of(const Catalog& catalog, const NodeType& type);

// The plan of a cluster of the catalog: whole nodes, of which the last one may have more GPUs than
// the cluster uses; a single node has only the cluster's GPUs. All ports are on one switch, or on
// one for each rail if every GPU has a port of its own. The catalog describes ports, not the
// network behind them; topology files describe levels of switches and oversubscription.
ClusterPlan plan_of(const Cluster& cluster);

}  // namespace orrery
