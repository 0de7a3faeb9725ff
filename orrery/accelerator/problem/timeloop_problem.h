// Reads a problem as Timeloop writes it (v0.3, v0.4 and v3):
//
//   problem:
//     shape:
//       dimensions: [M, N, K]
//       coefficients: [{name: Wstride, default: 1}]
//       data_spaces:
//         - {name: A, projection: [[[M]], [[K]]]}
//         - {name: Z, projection: [[[M]], [[N]]], read_write: true}
//     instance: {M: 512, N: 512, K: 512}
//
// A rank of a projection is a list of summands, each a dimension and, where it has one, its
// coefficient: a name whose value `instance` or `default` gives, or a number.
//
// A tensor named Inputs, Weights or Outputs (or so in the singular, in any case) has that role.
//
// Source: the documented input format of Timeloop (timeloop.csail.mit.edu, v3 and v4 inputs).
#pragma once

#include "orrery/accelerator/problem/einsum.h"
#include "orrery/base/node.h"

namespace orrery {

// `root` is the document, or its value under `problem`. InputError with the place: a dimension
// without a size, an unknown name in a projection, more ranks or dimensions than are counted.
Einsum read_timeloop_problem(const Node& root);

}  // namespace orrery
