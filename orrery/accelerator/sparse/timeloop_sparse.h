// Reader of the sparse part of a Timeloop input (Sparseloop v0.3 and v0.4): the densities of a
// problem's instance, and the sparse_optimizations of an architecture.
//
//   instance:
//     densities: {A: 0.3, B: {distribution: hypergeometric, density: 0.5}}
//   sparse_optimizations:
//     targets:
//       - name: Buffer
//         representation_format:
//           data_spaces:
//             - {name: A, ranks: [{format: UOP}, {format: CP, metadata_word_bits: 4}]}
//         action_optimization:
//           - {type: skipping, options: [{target: B, condition_on: [A]}]}
//       - name: mac
//         compute_optimization: [{type: gating}]
//
// A bare number is a fixed structured density; distributions are fixed_structured, hypergeometric,
// banded (band_width) and, of our own, measured (tiles: a list of words, empty, density). Ranks
// stand outermost first. Names may be written with '-' for '_'. An action without `options` is its
// one option. gating of compute is where an operand is zero, skipping where one is not there.
#pragma once

#include "orrery/accelerator/architecture/timeloop_architecture.h"
#include "orrery/accelerator/problem/einsum.h"
#include "orrery/accelerator/sparse/sparse_design.h"
#include "orrery/base/node.h"

namespace orrery {

// `instance` is the map of dimension sizes; `optimizations` is the map with the key targets, and
// may be null: no format and no action. Energies are those of the chip, metadata is not counted.
// InputError with the place for unknown keys and names.
SparseDesign read_timeloop_sparse(const Node& instance, const Node* optimizations,
                                  const Einsum& problem, const Chip& chip);

// Adds the sparse designs that components state themselves, as v0.4 has it: the keys of a target
// but for its name.
void add_component_designs(const std::vector<ComponentNodes>& components, const Einsum& problem,
                           const Chip& chip, SparseDesign& design);

// Adds the energies of actions and the metadata storage of components. An action without an energy
// of its own has that of the first of its other names that has one, in the order of Timeloop: a
// skipped one that of a gated one, a gated operation that of an operation; a gated or skipped
// access has none.
//
// Metadata words without a width of their own have metadata_datawidth bits; a width is raised until
// it divides metadata_storage_width. Source: src/model/topology.hpp and
// src/sparse-analysis/sparse-optimization-parser.cpp of timeloop-model.
void add_component_details(const std::vector<ComponentNodes>& components, SparseDesign& design);

// Adds the orders of loops from a list of mapping directives (timeloop_mapping.h).
void add_loop_orders(const Node& directives, const Einsum& problem, const Chip& chip,
                     SparseDesign& design);

}  // namespace orrery
