// The loops of a mapping level by level, loops of one iteration included, as the rules for sparse
// designs look at them.
#pragma once

#include <vector>

#include "orrery/accelerator/architecture/chip.h"
#include "orrery/accelerator/mapping/mapping.h"
#include "orrery/accelerator/sparse/sparse_design.h"
#include "orrery/base/index.h"

namespace orrery {

using Extents = std::vector<std::int64_t>;  // of each dimension

struct NestLoop {
  int dim = 0;
  std::int64_t size = 1;
  bool space = false;
  Extents covered;  // by this loop and everything inside of it
};

struct SparseNest {
  std::vector<std::vector<NestLoop>> levels;  // as in Chip::levels; loops innermost first
  // Whether a level keeps a tensor.
  std::vector<std::vector<bool>> kept;

  int count() const { return static_cast<int>(levels.size()); }
  // The next level inside of `level` that keeps the tensor; count(): compute.
  int child(int level, int tensor) const;
  // The next level outside of `level` that keeps the tensor; -1: none.
  int parent(int level, int tensor) const;
  const Extents& tile(int level) const { return levels[index(level)].back().covered; }
};

// A level with an array has a loop in space for every dimension, inside of a loop in time for every
// dimension. `orders` may be empty: loops of one iteration then stand outside of the others.
SparseNest sparse_nest(const Einsum& problem, const Chip& chip, const Mapping& mapping,
                       const std::vector<LoopOrder>& orders);

// A level, tensor or dimension as an index.
inline std::size_t slot(int i) { return static_cast<std::size_t>(i); }

bool uses(const EinsumTensor& tensor, int dim);

}  // namespace orrery
