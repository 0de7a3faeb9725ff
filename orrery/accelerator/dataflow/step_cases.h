// The cases of a level's steps: every map is at its first step, between, or at its last.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "orrery/accelerator/dataflow/cluster_level.h"

namespace orrery {

// A map's step.
struct MapStep {
  enum class At { kFirst, kMiddle, kLast } at = At::kFirst;
  std::int64_t occurrences = 1;
  bool whole = false;    // the first step covers the dimension
  bool partial = false;  // the first step is larger than the dimension
  bool tail = false;     // in space: the last sub-cluster in use holds less than the others
  bool ends() const { return at == At::kLast || partial; }
};

// One step for every map of the level, in their order.
using StepCase = std::vector<MapStep>;

inline std::int64_t occurrences(const StepCase& steps) {
  std::int64_t n = 1;
  for (const MapStep& s : steps) n *= s.occurrences;
  return n;
}

// Calls `visit` with every combination of steps of a tile of `sizes`, the first steps of all maps
// first, then in MAESTRO's order (the last visited decides some of its figures).
void for_each_step(const ClusterLevel& level, const DimSizes& sizes,
                   const std::function<void(const StepCase&)>& visit);

}  // namespace orrery
