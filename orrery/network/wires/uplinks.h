// The leaf switches of a network whose uplinks carry less than their ports
// (NodeNetwork::leaf_nodes and oversubscription).
//
// All groups of a kind communicate at the same time, so that every port of a leaf is used alike. Of
// the bytes of a port the share s goes to nodes below other leaves. The uplinks of a leaf with k
// nodes carry 1/o of its ports together. A transfer therefore takes max(1, o s) times as long as
// with full uplinks.
//
//   ring         min(1, d / k)    d: nodes from a member to the next one (1 if they are neighbours)
//   tree         sum over j < log2(n) of 2^-(j+1) min(1, 2^j d / k): half of the edges of a binary
//                tree over n nodes join neighbours, a quarter members two apart, ... (ncclGetBtree
//                in src/graph/trees.cc of https://github.com/NVIDIA/nccl)
//   all-to-all   (n - g) / (n - 1)    g = max(1, k / d): nodes of the group below a leaf
//   send         as a ring
//
// A group whose nodes all lie below one leaf passes no uplink. A ring in the order of the nodes
// leaves a leaf once, so that it waits for uplinks only where o > k.
//
// The term counts bytes. Collisions of flows on links that are free elsewhere are not in it, and no
// measurement was available.
#pragma once

#include "orrery/hardware/cluster.h"
#include "orrery/workload/ops/op.h"

namespace orrery {

enum class UplinkPattern { kRing, kTree, kAllPairs };

// Share of a port's bytes that passes the uplinks of the leaf. `link`: of the group on `cluster`;
// `stride`: between its ranks.
double uplink_share(const Cluster& cluster, const GroupLink& link, int stride,
                    UplinkPattern pattern);

// Factor of the transfer between nodes, >= 1; 1 for a network without oversubscription.
double uplink_factor(const Cluster& cluster, const GroupLink& link, int stride,
                     UplinkPattern pattern);

}  // namespace orrery
