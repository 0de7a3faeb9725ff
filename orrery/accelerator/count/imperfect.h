// Deliveries at a boundary of a mapping with imperfect factors, by the convention of Timeloop.
//
// A loop in time is visited in its first iteration, its second (which stands for all up to the last
// but two), its last but one and its last. Only the first instance of an array is followed; the
// others fetch what it fetches, moved. A loop ends early if every loop outside of it over the same
// dimension is in its last iteration; so does, for each dimension, the tile below. Since the first
// instance is never the last, a tile divided in space keeps its full size, and the cycles are those
// of the first instance. These counts are therefore sometimes above the true ones.
//
// Source: the dense loop analysis of timeloop-model (NVlabs/timeloop 4cf6d4c).
#pragma once

#include <span>
#include <vector>

#include "orrery/accelerator/count/boundary.h"

namespace orrery {

// A loop of the nest, with what it needs to end early.
struct PartialLoop {
  MovingLoop loop;
  int dim = 0;
  int level = 0;
  std::int64_t last = 1;  // iterations of the last pass
  bool time = true;
};

struct PartialBoundary {
  std::span<const PartialLoop> loops;  // of the whole nest, outermost first
  std::size_t below = 0;               // the first loop of the level below
  int level = 0;                       // the level above
  const EinsumTensor* tensor = nullptr;
  std::span<const std::int64_t> tile, last_tile;  // extents below of each dimension, whole and last
  bool compute = false;
  bool no_multicast = false;
  std::int64_t columns = 1;  // of the array as built
};

struct PartialCounts {
  BoundaryCounts counts;
  double largest_tile = 0;
  double active = 0;  // instances of the array in use, on average over time
  double steps = 0;   // moments at which the first instance may fetch
};

// Infeasible: so many loops that the walk would take minutes.
PartialCounts count_imperfect(const PartialBoundary& boundary);

}  // namespace orrery
