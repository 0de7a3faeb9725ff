// The rates at which the cards of a server send at once over a described PCI Express tree
// (pcie_tree.h).
//
// A message from card i to card j passes, each way once,
//
//   bridged neighbours        the bridge: no link of the tree
//   one switch, direct copy   the links of i and j
//   direct copy elsewhere     these, the uplinks of both switches, and the link between the sockets
//   through host memory       the same; the memory of j's socket is written and read
//
// NCCL's rule decides which pairs copy directly (ncclTopoCheckP2p in src/graph/paths.cc of
// https://github.com/NVIDIA/nccl, 2.30): those below one switch; all, if the group has two cards on
// CPUs of AMD; or as p2p_level says. A card whose driver refuses such copies makes none. A direct
// copy through Intel's CPU takes 6/5 of its bytes on the links, because it is split into packets of
// 64 bytes (INTEL_P2P_OVERHEAD in src/graph/topo.h).
//
// All groups of a kind communicate at the same time and at one rate. The rate is the largest at
// which no link carries more than its bandwidth. A ring sends one half of its bytes each way around
// (NCCL's search fills the links of both directions), so that bridged neighbours use both
// directions of both cards' links.
#pragma once

#include <vector>

#include "orrery/hardware/cluster.h"

namespace orrery {

// Nominal rates of one rank, each way.
struct PcieRates {
  BytesPerSecond ring;   // with its neighbours in a ring
  BytesPerSecond pairs;  // with all other ranks of the group at once
};

class PcieServer {
 public:
  // The rates of all groups that fit into a node of `cluster`, which must outlive it. Nothing, if
  // the node's tree is not described.
  explicit PcieServer(const Cluster& cluster);

  // The rates of the group of `link`; nullptr if its fabric is not the described bus. Allocates
  // nothing.
  const PcieRates* of(const GroupLink& link) const;

 private:
  struct Group {
    int ranks = 0, stride = 0;
    PcieRates rates;
  };
  const Fabric* bus_ = nullptr;
  std::vector<Group> groups_;
};

// The rates of groups of `ranks` cards that are `stride` apart. REQUIRES a described tree, and that
// one such group fits into a node.
PcieRates pcie_rates(const Cluster& cluster, int ranks, int stride);

}  // namespace orrery
