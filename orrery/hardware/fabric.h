// What connects GPUs: inside a node (NVLink, xGMI, PCIe), inside a pod (ICI) or between nodes (a
// port of InfiniBand or Ethernet). Facts only; the network room makes times of them. Files:
// catalog/fabrics/.
#pragma once

#include <string>
#include <vector>

#include "orrery/base/fields.h"
#include "orrery/base/node.h"
#include "orrery/base/units.h"

namespace orrery {

enum class FabricKind {
  kSwitch,  // every GPU reaches every other one at full bandwidth
  kMesh,    // the links of a GPU are divided among its peers
  kTorus,   // links to the neighbours along two or three dimensions
  kBus,     // PCI Express
  kNic,     // ports that leave the node
};

struct Fabric {
  std::string id;
  std::string name;
  std::vector<std::string> aliases;
  FabricKind kind = FabricKind::kSwitch;
  int links = 1;                      // of one GPU; of one port for a kNic
  BytesPerSecond link_bandwidth{};    // nominal, each way, of one link
  Seconds latency{};                  // of one hop, without software
  int max_gpus = 0;                   // largest domain; 0: no limit of its own
  bool peer_to_peer = true;           // false: every message passes through host memory
  bool in_network_reduction = false;  // switches add up (NVLink SHARP, InfiniBand SHARP)
  std::vector<std::string> sources;
  std::vector<std::string> unsure;

  // Nominal bandwidth each way of one GPU (of one port for a kNic) towards the rest of the fabric.
  BytesPerSecond bandwidth() const;

  // The same within a group of `ranks` of the domain's GPUs: in a mesh only the links to the
  // group's other members count. ranks >= 2.
  BytesPerSecond bandwidth(int ranks) const;
};

// The keys of a fabric file.
void declare(Fields& f, Fabric& x);

// Reads and checks a fabric file; InputError with file:line:key.
Fabric read_fabric(const Node& document);

}  // namespace orrery
