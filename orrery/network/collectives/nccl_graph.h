// The graph of nccl_tuner.h for a machine of the catalog: what NCCL's search of the topology would
// find.
//
// The search is not repeated. Its results follow from data-sheet bandwidths, with B the bandwidth
// of NVLink (one GPU, each way) and N that of a GPU's share of the node's ports:
//
//   group                      channels              GB/s of a channel
//   one node                   12                    0.8 B / 12; A100 20, H100 30, B200 60
//   one node, NVLS             one a GPU, at most 8  0.8 B / 9; H100 40, B200 80
//   several nodes              one a GPU, at most 8  0.96 N, all within 0.86 B; 8x400G: 8 x 48
//   several nodes of one GPU   2                     0.96 N / 2
//   trees over two nodes       as rings              2 * 0.96 N, all within 0.86 B
//
// Over two nodes, each of the two trees carries half of the buffer up and down, so that the ports
// of a node carry the buffer once; a ring carries it 2(n-1)/n times. NCCL's search (ncclTopoCompute
// of src/graph/search.cc) raises the bandwidth of a tree's channels within the node up to twice
// that between nodes, and its tuner estimates two nodes by the former. Four 100G ports of a node
// then carry 44 GB/s of an all-reduce (41.8 measured), and a ring 25.
//
// The numbers are NcclTables::Graph. NVLS has one channel for each GPU, which is why groups of four
// or five GPUs take rings. A rack that is one NVLink domain counts as one node.
#pragma once

#include "orrery/hardware/cluster.h"
#include "orrery/network/collectives/nccl_tuner.h"

namespace orrery {

// Latency of a message between nodes beyond the one in NCCL's table, which is that of InfiniBand:
// 12.3 us for EFA's 15 us.
Seconds nic_latency(const NcclTables& tables, const Fabric& network);

// `link`: of the group on `cluster` (Cluster::link).
// `version`: of NCCL; none: one that has every algorithm. `forced`: algorithms that the user must
// have enabled are offered if it asks for them. `tables` must outlive the graph.
NcclGraph nccl_graph(const NcclTables& tables, const Cluster& cluster, const GroupLink& link,
                     const ForcedChoice& forced = {}, std::optional<LibraryVersion> version = {});

// Time that a collective's bytes occupy a rank's share of its node's ports, each way, at the
// nominal rate; 0 on one node. `ranks`: size of the group. `ring`: the algorithm is a ring, whose
// every rank passes on the whole buffer, so that (n-1)/n of it (twice that for an all-reduce)
// enters and leaves each node, n being the number of ranks. Any other algorithm sends what has to
// leave a node: the same with n the number of nodes, or once the buffer for an all-reduce with
// `collnet`.
Seconds port_time(const GroupLink& link, Collective::Kind kind, int ranks, Bytes bytes, bool ring,
                  bool collnet = false);

// Lower bound of the time of any algorithm: bytes that must cross a cut of the machine, over the
// bandwidth of the cut. The cuts are around one node (its GPUs' shares of the ports) and around one
// GPU (its scale-up link). A reduction passes a cut once where switches reduce: within a node
// wherever the fabric can, between nodes with `collnet`.
Seconds bisection_bound(const Cluster& cluster, const GroupLink& link, Collective::Kind kind,
                        Bytes bytes, bool collnet = false);

}  // namespace orrery
