// Reads a workload as AccelForge writes it:
//
//   workload:
//     rank_sizes: {M: 128, N0: 64, N1: 64}          # or iteration_space_shape: {m: 0 <= m < 128}
//     bits_per_value: {All: 8}                      # sets of tensors and their bits
//     persistent_tensors: weight - Intermediates
//     einsums:
//     - T1[m, n1] = T0[m, n0] * W0[n0, n1]
//     - QK[m, p] = Q(input)[m, e] * K(weight)[M:p, e]
//     - einsum: "I[m, d] = copy(I_in[m, d])"
//     - name: Conv
//       tensor_accesses:
//       - {name: X, projection: {P: p + r, C: c}}
//       - {name: F, projection: [c, r, k]}
//       - {name: Y, projection: [p, k], output: True}
//       renames: {weight: F}
//   renames: {einsums: [{name: default, tensor_accesses: [{name: input, source: Inputs}]}]}
//
// A variable has the size of the rank that bears its name in upper case. The roles input, weight
// and output are the tensors that `renames` gives these names, else the first and the second
// operand and the result.
//
// Source: the documented input format of AccelForge (Accelergy-Project/accelforge, docs and
// examples, 1c1929c2).
#pragma once

#include "orrery/accelerator/problem/cascade.h"
#include "orrery/base/node.h"

namespace orrery {

// `root` is the document of parse_accelforge, or its value under `workload`. InputError with the
// place: unknown keys, a variable without a size, several outputs, einsums that repeat, densities.
Cascade read_accelforge_workload(const Node& root, const std::string& name);

}  // namespace orrery
