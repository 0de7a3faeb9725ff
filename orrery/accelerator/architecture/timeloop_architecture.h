// Builds a chip from the components of a Timeloop architecture and their attributes.
//
// Attributes (Timeloop v3 and v4): depth or entries (blocks), width and datawidth (bits),
// multiple_buffering, cluster_size, read_bandwidth, write_bandwidth and shared_bandwidth (words a
// cycle), meshX and meshY (the grid of all instances), energy_per_hop and router_energy
// (picojoules), technology and n_banks (without effect here). A memory without depth, or of class
// DRAM, is unbounded. A class that begins with "dummy" stores nothing.
//
// Energies are picojoules of an action: read, write, update and leak of a memory, compute and leak
// of the innermost component.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orrery/accelerator/architecture/chip.h"
#include "orrery/base/node.h"

namespace orrery {

struct TimeloopComponent {
  std::string name, component_class;
  std::int64_t instances = 1;
  const Node* attributes = nullptr;  // a map; absent: none
  const Node* energy = nullptr;      // a map of actions, or null; absent: no energies
  double area_um2 = 0;               // of an instance
};

// Components outermost first, the last one computes. InputError with the place: a grid that its
// instances do not fill or that the grid above does not divide.
Chip chip_of(const std::vector<TimeloopComponent>& components, const std::string& name);

// A component beyond its chip's level: attributes, energies of its actions, and the sparse design
// of the component alone (v0.4). Null where it has none.
struct ComponentNodes {
  std::string name;
  Node attributes, energy, sparse;
};

// The components of a flat list.
std::vector<ComponentNodes> component_nodes(const Node& list);

// Reads a list of components with the keys name, class, range ("1..64"), attributes,
// energy_pj_per_action and area_um2.
Chip read_flat_architecture(const Node& list, const std::string& name);

}  // namespace orrery
