// The probability that an action leaves out an access of its target.
//
// An access of the target serves the target's tile: what the next level that keeps it works on, or
// one word where it goes to compute. The condition's tile is what that access is needed for. If the
// target goes to a memory, the first loop outwards that moves the target ends its stay there, so
// the condition's tile covers everything inside of that loop, and one iteration of it if the loop
// moves both. If the target goes to compute, the tile covers the loops in space inside of the
// innermost loop in time. Loops in space further out move nothing in time: the tile covers them
// too, except that a loop which moves both tensors divides it. Accesses of blocks cover several
// iterations. A loop that moves the condition outside of one in space that moves both makes the
// condition useless, as the condition would have to be walked in another order than it is stored.
//
// Source: Wu et al., Sparseloop, MICRO 2022, section 5.3.4; timeloop-model
// (src/sparse-analysis/storage-gs-analyzer.cpp).
#pragma once

#include "orrery/accelerator/sparse/sparse_nest.h"

namespace orrery {

// `level` keeps the target of the option.
double skip_probability(const Einsum& problem, const Chip& chip, const SparseNest& nest,
                        const SparseDesign& design, int level, const SparseOption& option);

}  // namespace orrery
