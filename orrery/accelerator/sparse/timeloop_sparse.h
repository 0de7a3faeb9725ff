// Reader of the sparse part of a Timeloop input (Sparseloop v0.4): the densities of a problem's
// instance and the sparse_optimizations of an architecture.
#pragma once

#include "orrery/accelerator/architecture/chip.h"
#include "orrery/accelerator/problem/einsum.h"
#include "orrery/accelerator/sparse/sparse_count.h"
#include "orrery/base/node.h"

namespace orrery {

// `instance` is the map of dimension sizes with the key densities; `optimizations` is the map with
// the key targets, and may be null: no format and no action. A tensor is compressed where the
// format of one of its ranks is RLE, CP or B. InputError with the place for unknown names.
SparseDesign read_timeloop_sparse(const Node& instance, const Node* optimizations,
                                  const Einsum& problem, const Chip& chip);

}  // namespace orrery
