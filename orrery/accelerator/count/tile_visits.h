// The visits of a tile: how the part of a tensor that a holder keeps changes while the loops above
// it run. The counts of the convention exact are made of these.
//
// Loops may have any sizes whose product covers the dimension; what lies beyond its end is not
// there. Let the loops in time above a holder be 1..k. The holder is reached anew when one of them
// advances while those inside of it return to their start. Tile and tile before are boxes, of
// which each dimension determines its own part, so that the sum of overlaps over all visits and
// instances is, for each loop that advances, a product over the tensor's ranks of sums over the
// places of the rank's dimensions: no visit is walked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "orrery/accelerator/mapping/mapping.h"
#include "orrery/accelerator/problem/einsum.h"

namespace orrery {

// A loop above a holder, with the step of its dimension that an iteration takes.
struct SteppingLoop {
  std::int64_t size = 1, step = 1;
  int dim = 0;
  bool time = true;
  bool forgets = false;  // the holder has lost its tile when the loop advances
};

// Iterations of loops of one dimension, outermost first, that begin before its end at `left`. The
// step of a loop exceeds the sum of (size - 1) * step of those inside of it.
double begun_places(const std::vector<SteppingLoop>& loops, std::int64_t left);

class TileVisits {
 public:
  // `loops` are those above the holder, `tile` the extents that those below it cover.
  TileVisits(const Einsum& einsum, const EinsumTensor& tensor, std::vector<SteppingLoop> loops,
             std::vector<std::int64_t> tile)
      : einsum_(einsum), tensor_(tensor), loops_(std::move(loops)), tile_(std::move(tile)) {}

  // Elements of all instances: of the first tile, of the last one, and those that a holder which
  // keeps what it has gains in all its visits.
  double first() { return volumes(static_cast<std::ptrdiff_t>(loops_.size())).now; }
  double last() { return volumes(-1).now; }
  double gains();

 private:
  // How the part of a tile in one dimension changes: its shift and its lengths before and after.
  using Change = std::tuple<std::int64_t, std::int64_t, std::int64_t>;
  using Changes = std::map<Change, double>;  // how often
  // Sums over all places: of the elements of tiles, and of those that were there before.
  struct Volumes {
    double now = 1, kept = 1;
  };

  Changes changes(int dim, std::ptrdiff_t advancing) const;
  Volumes volumes(std::ptrdiff_t advancing) const;
  Volumes rank_volumes(const std::vector<IndexTerm>& rank, std::ptrdiff_t advancing) const;

  const Einsum& einsum_;
  const EinsumTensor& tensor_;
  std::vector<SteppingLoop> loops_;
  std::vector<std::int64_t> tile_;
};

// A node of a tensor's nest; `fused` if it is among the first `fused` nodes of the mapping.
struct NestNode {
  MappingNode node;
  bool fused = false;
};

// The nest of a tensor: its holders and all loops, with loops in space as high as they can stand
// (looptree_count.h).
std::vector<NestNode> own_nest(const Mapping& mapping, int tensor, std::size_t fused);

}  // namespace orrery
