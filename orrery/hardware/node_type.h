// A node type: the number of GPUs in one scale-up domain, the fabric between them, and the ports
// that leave it.
//
// A rack that is one NVLink domain (NVL72) and a TPU pod are nodes, too. Each node type is a YAML
// file in catalog/nodes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orrery/base/fields.h"
#include "orrery/base/node.h"
#include "orrery/base/units.h"
#include "orrery/hardware/pcie_tree.h"

namespace orrery {

// Groups of neighbouring GPUs with links of their own, inside a node on PCIe. `fabric` is empty if
// there are none.
struct Bridge {
  std::string fabric;
  int gpus = 2;  // of one group
};

// The ports that leave the node. `fabric` is empty if there are none.
struct NodeNetwork {
  std::string fabric;
  int ports = 0;  // of the whole node
  // Nodes below one leaf switch (or one set of rails); 0: all of the cluster.
  int leaf_nodes = 0;
  double oversubscription = 1;  // bandwidth of the leaf's ports over that of its uplinks
};

// Power of everything in the node but its GPUs' boards, behind the power supplies: CPUs, memory,
// network cards, switches, fans. Absent: not known.
struct NodePower {
  std::optional<Watts> idle, loaded;        // while the GPUs wait; while they draw their limit
  std::optional<double> supply_efficiency;  // share of the wall's power that the supplies pass on
};

struct NodeType {
  std::string id;
  std::string name;
  std::vector<std::string> aliases;
  std::vector<std::string> gpus;  // ids of the GPUs with which the node is built
  int gpu_count = 1;
  int gpus_per_host = 0;  // GPUs of one host computer; 0: all of them
  std::string scale_up;   // id of the fabric that connects all GPUs; empty for a single GPU
  Bridge bridge;
  PcieTree pcie;
  NodeNetwork network;
  std::optional<Bytes> host_memory;  // of the whole node
  NodePower power;
  std::vector<std::string> sources;
  std::vector<std::string> unsure;  // keys of doubtful values
};

// The keys of a node file.
void declare(Fields& fields, NodeType& node);

// Reads and checks a node file. InputError, with file:line:key.
NodeType read_node_type(const Node& document);

}  // namespace orrery
