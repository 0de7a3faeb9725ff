// Reads a mapping as Timeloop writes it: a list of directives.
//
//   - {target: GLB, type: temporal, factors: M=8 N=2 K=1, permutation: KMN}
//   - {target: GLB, type: spatial, factors: M=8 N=4, permutation: MN, split: 1, no_reuse: [A]}
//   - {target: RF, type: datatype, keep: [A, Z], bypass: [B]}
//
// A permutation names dimensions from the innermost loop; the first `split` of a spatial one run
// along X, the others along Y. Dimensions that it leaves out follow in the problem's order. A
// factor is the iterations of a loop, and after a comma those of its last pass; 0 stands for what
// the other factors leave of the dimension. A level without a directive of type datatype (or
// bypass) keeps every tensor; a level that stores nothing keeps none.
//
// Source: the documented input format of Timeloop (timeloop.csail.mit.edu, v3 and v4 inputs).
#pragma once

#include "orrery/accelerator/architecture/chip.h"
#include "orrery/accelerator/mapping/mapping.h"
#include "orrery/accelerator/problem/einsum.h"
#include "orrery/base/node.h"

namespace orrery {

// `root` is the document, its value under `mapping`, or the list. InputError with the place: an
// unknown level, dimension or tensor, or factors that do not cover a dimension.
Mapping read_timeloop_mapping(const Node& root, const Einsum& problem, const Chip& chip);

}  // namespace orrery
