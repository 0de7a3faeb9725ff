// A fabric: the links between GPUs inside a node (NVLink, xGMI, PCIe), inside a pod (ICI), or
// between nodes (a port of InfiniBand or Ethernet).
//
// The figures are facts of data sheets; the network room makes times of them. Each fabric is a YAML
// file in catalog/fabrics. Bandwidths count one direction.
#pragma once

#include <string>
#include <vector>

#include "orrery/base/fields.h"
#include "orrery/base/node.h"
#include "orrery/base/units.h"

namespace orrery {

enum class FabricKind {
  kSwitch,  // a switch: every GPU reaches every other one at full bandwidth
  kMesh,    // direct links: those of a GPU are divided among its peers
  kTorus,   // direct links to the neighbours along two or three dimensions
  kBus,     // PCI Express
  kNic,     // ports that leave the node
};

struct Fabric {
  std::string id;
  std::string name;
  std::vector<std::string> aliases;
  FabricKind kind = FabricKind::kSwitch;
  int links = 1;                      // of one GPU; of one port if the kind is kNic
  BytesPerSecond link_bandwidth{};    // nominal, each way, of one link
  Seconds latency{};                  // of one hop, without software
  int max_gpus = 0;                   // GPUs of the largest domain; 0: no limit of its own
  bool peer_to_peer = true;           // false: every message passes through host memory
  bool in_network_reduction = false;  // the switches reduce (NVLink SHARP, InfiniBand SHARP)
  std::vector<std::string> sources;
  std::vector<std::string> unsure;  // keys of doubtful values

  // Nominal bandwidth of one GPU (of one port if the kind is kNic) into the fabric, each way.
  BytesPerSecond bandwidth() const;

  // The same within a group of `ranks` GPUs of the domain. In a mesh only the links to the other
  // members of the group count. REQUIRES ranks >= 2.
  BytesPerSecond bandwidth(int ranks) const;
};

// The keys of a fabric file.
void declare(Fields& f, Fabric& x);

// Reads and checks a fabric file. InputError, with file:line:key.
Fabric read_fabric(const Node& document);

}  // namespace orrery
