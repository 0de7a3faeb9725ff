// Cycles and energy of a counted mapping on a chip.
//
//   level slow-down   the share of its demand that a level's bandwidth serves, at most 1: the least
//                     of those of reads, of fills with updates, and of all together
//   cycles            the steps of compute divided by the smallest slow-down, rounded up; filling
//                     and draining the pipeline are not counted
//   energy            accesses in whole blocks by the energy of an access, times the clusters in
//                     use; leakage of the instances in use; networks; compute
//   network           for a delivery: words * hops * energy of a hop, and 1 + floor(hops) routers;
//                     for a word over a link: one hop and two routers
//
// Source: the convention of timeloop-model (see timeloop_count.h), whose records these equal.
#pragma once

#include <vector>

#include "orrery/accelerator/architecture/chip.h"
#include "orrery/accelerator/count/timeloop_count.h"

namespace orrery {

struct LevelCost {
  double cycles = 0;
  double slowdown = 1;                // at most 1
  std::vector<double> tensor_energy;  // picojoules of all instances
  double leakage = 0;                 // picojoules
  double network = 0;                 // picojoules, of the network below the level
};

struct NestCost {
  std::vector<LevelCost> levels;
  double cycles = 0;
  double compute_energy = 0, compute_leakage = 0;  // picojoules
  double energy = 0;  // picojoules, of everything but compute_leakage, as the convention has it
};

// REQUIRES: `counts` are of a mapping on `chip`. The operations are a step's on all units in use;
// with imperfect factors this may exceed Einsum::points, as in the convention. Replaces `out`.
void cost_nest(const Chip& chip, const NestCounts& counts, NestCost& out);

}  // namespace orrery
