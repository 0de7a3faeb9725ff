// The PCI Express tree of a server: switches, sockets and the ways between them.
//
// It is part of a node type (node_type.h, key `pcie`) whose cards PCI Express connects. Cards are
// counted in the order of the node: the first ones are on the first socket, and below its first
// switch.
#pragma once

#include <optional>

#include "orrery/base/fields.h"
#include "orrery/base/node.h"
#include "orrery/base/units.h"

namespace orrery {

// The vendor of the CPUs. NCCL copies from card to card by another rule on AMD's, and Intel's split
// what passes from card to card into packets of 64 bytes.
enum class CpuVendor { kOther, kIntel, kAmd };

// How far apart two cards may be that copy directly (NCCL_P2P_LEVEL); all others copy through host
// memory. NCCL's default is below switches, and everywhere for two cards on CPUs of AMD.
enum class DirectCopies { kDefault, kNever, kBelowSwitches, kEverywhere };

struct PcieTree {
  int sockets = 0;      // the cards are spread over them evenly; 0: no tree is described
  int switch_gpus = 1;  // cards below one switch; 1: each has a root port of its own
  int uplinks = 1;      // links of a switch to its socket, each as a card's
  BytesPerSecond socket_bandwidth{};               // between two sockets, each way; 0 on one socket
  std::optional<BytesPerSecond> memory_bandwidth;  // of one socket's memory; absent: no limit
  CpuVendor cpu = CpuVendor::kOther;
  DirectCopies p2p_level = DirectCopies::kDefault;

  bool described() const { return sockets > 0; }
};

// Cards of the largest described tree.
inline constexpr int kMostPcieCards = 64;

// The keys of `pcie`.
void declare(Fields& fields, PcieTree& tree);

// InputError at `document`, a node type's: the tree does not fit `gpu_count` cards.
void check(const PcieTree& tree, int gpu_count, const Node& document);

}  // namespace orrery
