// Chips as documents of our own form:
//
//   name: small
//   clock: 1 GHz
//   word_bits: 8
//   levels:                                  # outermost first
//     - {name: DRAM, bandwidth: 38.4 GB/s, read_pj_per_bit: 7.03, write_pj_per_bit: 7.03}
//     - name: Buffer
//       capacity: 64 KiB
//       read_bandwidth: 512 GB/s             # ports of their own; `bandwidth` is a shared port
//       write_bandwidth: 128 GB/s
//       array: [{name: X, size: 32, shared: [input]}]   # below one instance
//   compute: {name: MAC, rate: 1 GHz, pj: 0.084}
//   beside: [{name: ScalarUnit, level: Buffer, rate: 1 GHz}]
//
// Energies are of a bit (`read_pj_per_bit`), or of an access of `access_bits` (`read_pj`). Every
// part takes a `source`. What is not given is unbounded (capacity, bandwidth) or nothing (energy,
// leakage, area).
//
// A part with a `component` has published energies and areas instead (component_library.h), at the
// `process` of the chip:
//
//   process: 16 nm
//   levels:
//     - {name: DRAM, component: LPDDR4}                       # a kind of DRAM
//     - {name: Buffer, component: sram, capacity: 64 KiB}     # or registers
//     - {name: Converter, kind: toll, component: adc, resolution: 8}   # or mesh, package-link
//   compute: {name: MAC, component: int8}                     # a number format
//
// Rules that mappers keep to: a memory `holds: [weight]` tensors of these roles alone, and loops
// along an axis with `shared: [output]` run over dimensions that do not move an output.
#pragma once

#include "orrery/accelerator/architecture/chip.h"
#include "orrery/accelerator/architecture/component_library.h"
#include "orrery/base/node.h"

namespace orrery {

// Whether a document is a chip of this form: it has `levels`.
bool is_chip(const Node& document);

// Whether a part of the chip has a `component`.
bool has_components(const Node& root);

// InputError with file, line and key: unknown keys, no levels, two energies for one access, a
// level that is not there, a component without a published figure. `library` may be null for chips
// without components.
Chip read_chip(const Node& root, const ComponentLibrary* library = nullptr);

}  // namespace orrery
