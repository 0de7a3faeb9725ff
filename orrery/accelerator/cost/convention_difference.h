// Accesses that a convention counts otherwise than the convention exact does.
#pragma once

#include <vector>

#include "orrery/accelerator/cost/exact_cost.h"
#include "orrery/accelerator/count/looptree_count.h"
#include "orrery/accelerator/count/timeloop_count.h"

namespace orrery {

// Elements of all instances of a memory, in both conventions.
struct AccessDifference {
  int level = 0, tensor = 0;
  const char* access = "";  // reads, fills, updates; writes are fills and updates together
  double exact = 0, other = 0;
};

// The accesses that differ, in the order of the tensors, and outermost first. The convention
// timeloop does not count what an output reads to send it back.
std::vector<AccessDifference> differences(const ExactTraffic& exact, const NestCounts& timeloop);
std::vector<AccessDifference> differences(const ExactTraffic& exact,
                                          const LooptreeCounts& looptree);

}  // namespace orrery
