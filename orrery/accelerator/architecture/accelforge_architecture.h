// Reads an architecture as AccelForge writes it:
//
//   arch:
//     nodes:
//     - !Memory
//       name: MainMemory
//       size: inf                                       # bits
//       actions:
//       - {name: read, energy: 7.03e-12, latency: 1 / (8 * 614e9)}
//       - {name: write, energy: 7.03e-12, throughput: 8 * 614e9}
//     - !Container {name: PE, spatial: [{name: X, fanout: 128, may_reuse: input}]}
//     - !Compute {name: MAC, actions: [{name: compute, energy: 0.084e-12, latency: 1 / 1.05e9}]}
//
// A node with `spatial`, and all that follow it, stand in an array below the node before. A Compute
// that is not the last node, or the only node of a Fork, stands beside the others. Values are
// joules, seconds, watts, square metres and bits, and may be expressions
// (notation/accelforge_expression.h). A port is shared by reads and writes unless total_latency is
// max(read_latency, write_latency). Components without energies are refused unless their class is
// Dummy: the tool asks other programs for them. Constraints of its mapper (tensors, enabled,
// min_usage, reuse) are read past; `reuse` is what an axis may share where may_reuse is absent.
//
// Not read: networks, tolls of one direction, power gating, sparse formats.
//
// Source: the documented input format of AccelForge (Accelergy-Project/accelforge, docs and
// examples, 1c1929c2).
#pragma once

#include <map>
#include <string>

#include "orrery/accelerator/architecture/chip.h"
#include "orrery/base/node.h"

namespace orrery {

// `root` is the document of parse_accelforge. `role_bits` has the bits of the widest tensor of each
// role (input, weight, output), for expressions such as weight.bits_per_value; roles that no tensor
// has are absent. A word of every memory is a bit, and a cycle a nanosecond. InputError with the
// place: unknown keys, what is not read, no memory, no compute units.
Chip read_accelforge_architecture(const Node& root, const std::map<std::string, int>& role_bits,
                                  const std::string& name);

}  // namespace orrery
