// Cycles and energy of sparse counts on a chip.
//
// Cycles are those of the accesses that take bandwidth: made or gated, metadata in words. Energy
// is the sum over all kinds of actions (made, gated, skipped; data and metadata; unpacking and
// packing) of their number by the energy of one. Words are accessed in whole blocks, each kind
// rounded up by itself and then multiplied by SparseTensorCounts::blocking; metadata in whole
// widths of its memory. Networks and leakage are those of the dense mapping in the sparse cycles.
//
// Source: timeloop-model (src/model/buffer.cpp).
#pragma once

#include "orrery/accelerator/cost/nest_cost.h"
#include "orrery/accelerator/sparse/sparse_count.h"

namespace orrery {

// REQUIRES: `counts` are of `design` on `chip`, and the design has energies for each level.
// Replaces `out`.
void cost_sparse(const Chip& chip, const SparseDesign& design, const SparseCounts& counts,
                 NestCost& out);

}  // namespace orrery
