// Topologies from files (docs/network-flow.md lists the keys). A file has one of three forms:
//
//   name: two racks                # nodes in the order of ranks, of the catalog or described here
//   nodes:
//     - {type: hgx-h100, count: 4}
//     - {count: 2, gpus: 4, inside: mesh, bandwidth: 300 GB/s, latency: 1 us, ports: 4,
//        port_bandwidth: 25 GB/s, port_latency: 3 us}
//   network: {kind: fat-tree, rails: false, children: [4], oversubscription: [2]}
//
//   dimensions:                    # a product of dimensions
//     - {kind: ring, size: 16, bandwidth: 100 GB/s, latency: 1 us}
//
//   gpus: 3                        # link by link; names other than gpu0, gpu1, ... are switches
//   links:
//     - {from: gpu0, to: s0, bandwidth: 50 GB/s, latency: 500 ns}
//
// Every form may have `degrade: {gpu0-s0: 0.5, gpu1->s0: 0}` in addition.
//
// ASTRA-sim's network files (topology, npus_count, bandwidth in GB/s, latency in ns) are read as
// dimensions, with 1 GB = 1e9 bytes. A Switch of theirs has its latency on each of the two links.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/node.h"
#include "orrery/flow/topology/topology.h"
#include "orrery/flow/topology/topology_build.h"
#include "orrery/hardware/catalog.h"

namespace orrery {

// One dimension of ASTRA-sim's network file, in its units.
struct AstraSimDimension {
  Wiring wiring = Wiring::kRing;  // Ring, FullyConnected (kMesh) or Switch
  int npus = 1;
  double bandwidth = 0;  // GB/s
  double latency = 0;    // ns
};

struct TopologyFile {
  Topology topology;
  // GPUs in a node (in the smallest kind of node), or along the first dimension:
  // FlowCollective::inner.
  int inner = 1;
  std::vector<AstraSimDimension> astra_sim;  // the dimensions of ASTRA-sim's file; else empty
};

// InputError with file:line:key.
TopologyFile read_topology(const Node& document, const Catalog& catalog);

}  // namespace orrery
