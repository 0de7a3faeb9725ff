// Reads a Timeloop architecture file: the tree of v0.2 and v0.3, the list of nodes of v0.4, and the
// flat list of components of recorded cases (timeloop_architecture.h).
//
//   architecture:                                architecture:
//     version: 0.3                                 version: 0.4
//     subtree:                                     nodes:
//       - name: system                               - !Component {name: DRAM, class: DRAM}
//         local: [{name: DRAM, class: DRAM}]         - !Container {name: PE, spatial: {meshX: 8}}
//         subtree:                                   - !Component {name: RF, class: regfile}
//           - name: PE[0..7]                         - !Component {name: mac, class: intmac}
//             local: [...]
//
// Attributes are inherited from the outside in. A name with a range ("PE[0..7]") and a node with
// `spatial` make an array; everything inside is that many times there. Energies come from an energy
// reference table as Accelergy writes it (`ERT: {tables: [{name, actions: [{name, energy}]}]}`, or
// the form of v0.4), in picojoules; a component is found by the last part of its name. Without a
// table they are estimated from published figures (component_library.h) for components with a
// technology: DRAM by its `type`, SRAM by depth and width, registers (regfile, storage), and
// multiply-adds (intmac, fpmac) by datawidth.
//
// Source: the documented input format of Timeloop and Accelergy (timeloop.csail.mit.edu).
#pragma once

#include "orrery/accelerator/architecture/chip.h"
#include "orrery/accelerator/architecture/component_library.h"
#include "orrery/accelerator/architecture/timeloop_architecture.h"
#include "orrery/base/node.h"

namespace orrery {

struct TimeloopArchitecture {
  Chip chip;
  bool energies = false;   // whether every memory and the compute units have energies
  bool estimated = false;  // whether energies come from the component library
  // The components without an energy, and in brackets why it is not known, for messages.
  std::vector<std::string> without_energy;
  // Outermost first, compute last; empty for chips of our own form.
  std::vector<ComponentNodes> components = {};
};

// `energies` may be null: no energy reference table; then `library` estimates them, and if it is
// null too, none are known. InputError with the place: no memory, a branch that is not a chain, an
// array that cannot be counted.
TimeloopArchitecture read_timeloop_architecture(const Node& root, const Node* energies,
                                                const ComponentLibrary* library,
                                                const std::string& name);

}  // namespace orrery
