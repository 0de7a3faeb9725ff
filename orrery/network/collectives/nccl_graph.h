// What NCCL's search of the topology finds on a machine of the catalog: the graph of nccl_tuner.h.
//
// The search itself is not repeated; its results follow the nominal bandwidths B of NVLink (one
// GPU, each way) and N of the ports (one GPU's share) closely (../shared/reference/network.md,
// "Graphs that fit"):
//   one node     12 channels of 0.8 B / 12       A100 20, H100 30, B200 60 GB/s
//   NVLS         one channel a GPU, at most 8, of 0.8 B / 9   H100 40, B200 80 GB/s
//   several      one channel a GPU, at most 8, of 0.96 N, within 0.86 B   8x400G: 8 x 48 GB/s
//   one GPU a node       2 channels of 0.96 N / 2
// That NVLS has one channel a GPU is why four and five GPUs take rings. A rack that is one NVLink
// domain counts as one node.
#pragma once

#include "orrery/hardware/cluster.h"
#include "orrery/network/collectives/nccl_tuner.h"

namespace orrery {

// Latency of a message between nodes beyond the one that NCCL's table counts: EFA's 15 us.
Seconds nic_latency(const Fabric& network);

// `collnet`: NCCL_COLLNET_ENABLE is set.
NcclGraph nccl_graph(const Cluster& cluster, const GroupLink& link, bool collnet = false);

// Time that a collective's bytes keep a rank's share of its node's ports busy, each way, at the
// nominal rate; 0 on one node. `ring`: rings run, whose every rank passes the whole on, so that
// (n-1)/n of it (twice that of an all-reduce) enters and leaves each node, n ranks of the group;
// else what has to leave a node: the same of the number of nodes, or less with `collnet`.
Seconds port_time(const GroupLink& link, Collective::Kind kind, int ranks, Bytes bytes, bool ring,
                  bool collnet = false);

// Time below which no algorithm can be: bytes that must cross a cut of the machine over the wires
// of the cut. Cuts: around one node (its GPUs' shares of the ports) and around one GPU (its
// scale-up link), both of which a reduction in the network's switches passes once: within a node
// wherever they can, between nodes with `collnet`.
Seconds bisection_bound(const Cluster& cluster, const GroupLink& link, Collective::Kind kind,
                        Bytes bytes, bool collnet = false);

}  // namespace orrery
