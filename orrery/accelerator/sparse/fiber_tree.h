// How the loops of a mapping become the ranks of a stored tensor, and what metadata they need.
//
// The ranks of a level are given to its loops of more than one iteration that move the tensor
// (those of the levels between it and the next that keeps the tensor included), from the outermost
// or, where the storage says so, the innermost. A rank takes one loop; a flattened rank takes all
// that follow and are among its dimensions. A compressed tile that is handed on in parts of more
// than one word is divided beforehand: its inner ranks are those of the level it goes to.
//
// Expected metadata of a tile is the mean over the numbers of non-zeros that it may have. If the
// level outside of it has metadata, empty tiles are never sent: the mean is that of the others, and
// the share of instances that hold a tile falls by the probability of an empty one.
//
// Source: Wu et al., Sparseloop, MICRO 2022, sections 5.2 and 5.4; timeloop-model
// (src/sparse-analysis/representation-analyzer.cpp).
#pragma once

#include "orrery/accelerator/sparse/sparse_nest.h"

namespace orrery {

struct FiberTree {
  std::vector<double> shape;      // coordinates of a fiber, by rank, innermost first
  std::vector<Extents> subtiles;  // below each rank, and of the whole tile at the end
};

// Metadata and payloads of a rank.
struct RankUnits {
  double metadata = 0, payload = 0;
};

struct TileContents {
  double words = 0;              // non-zeros expected
  double held = 1;               // share of instances that hold a tile
  std::vector<RankUnits> ranks;  // expected
};

// The trees of a tensor at each level that keeps it. Infeasible: a level has fewer ranks than the
// loops need, or other inner ranks than the level it feeds.
std::vector<FiberTree> fiber_trees(const Einsum& problem, const Chip& chip, const SparseNest& nest,
                                   const SparseDesign& design, int tensor);

// Units of each rank of a tile with the given number of non-zeros.
std::vector<RankUnits> rank_units(const EinsumTensor& tensor, const TensorStorage& storage,
                                  const FiberTree& tree, const Density& density,
                                  const Known& known);

// `seen` is whether the level outside of this one has metadata.
TileContents tile_contents(const EinsumTensor& tensor, const TensorStorage& storage,
                           const FiberTree& tree, const Density& density, const Extents& tile,
                           bool seen);

}  // namespace orrery
