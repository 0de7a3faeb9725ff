// Cycles and energy of a mapping by the convention exact (exact_traffic.h).
//
//   port         elements of the busiest instance in words, over the words a cycle of its port
//   filling      the first tile of each operand goes down from holder to holder, one memory after
//                another; the units wait. A memory takes the time of its own port or of those that
//                feed it, whichever is longer
//   draining     the last tiles of outputs go up in the same way
//   cycles       with double buffering the units work while tiles are moved, and ports from the
//                first cycle to the last: the longest of filling + the units' steps + draining, and
//                of every port. Without it the units wait for every transfer: the longest of their
//                steps and of the ports that serve them, and all transfers, one memory after
//                another. Rounded up
//   room         an instance holds the whole tile of a tensor; with double buffering two of them if
//                the tile changes
//   energy       elements in words, over the words of an access and the instances of a cluster,
//                times the energy of an access; each point of the einsum once; leakage of every
//                instance in all cycles. Networks are not counted
//
// The arithmetic is that of Timeloop and AccelForge where these describe what happens (accesses,
// ports, energy). Both leave out filling, draining, waiting and the second copy of a tile.
#pragma once

#include <string>
#include <vector>

#include "orrery/accelerator/count/exact_traffic.h"
#include "orrery/accelerator/mapping/cascade_mapping.h"

namespace orrery {

struct ExactOptions {
  bool double_buffered = true;
  // An element is a word of every memory, as in Timeloop's inputs; else it has its own bits.
  bool words_of_memory = false;
};

struct ExactMemoryCost {
  double port_cycles = 0;  // of the busiest instance, in all
  double energy = 0;       // joules, without leakage
  double leakage = 0;      // joules
};

struct ExactCost {
  std::vector<ExactMemoryCost> memories;  // one for each level of the chip
  double compute_cycles = 0;
  double fill = 0, drain = 0;
  double transfers = 0;  // cycles in which the units wait for tiles: fill and drain, or all
  double cycles = 0;
  double compute_energy = 0, compute_leakage = 0;  // joules
  double energy = 0;                               // joules, with leakage
  int bound = -1;  // the level whose port bounds the cycles; -1: the units, with their waits
};

// Replaces `out`. `units` are the compute units that run the einsum.
void cost_exact(const Chip& chip, const CascadeStep& step, const ComputeArray& units,
                const ExactTraffic& traffic, const ExactOptions& options, ExactCost& out);

struct ExactCascadeCost {
  std::vector<ExactTraffic> traffic;  // of each step
  std::vector<ExactCost> steps;
  double cycles = 0, energy = 0;
};

ExactCascadeCost cost_exact_cascade(const Chip& chip, const Cascade& cascade,
                                    const CascadeMapping& mapping, const ExactOptions& options);

// A memory that a step overfills, in bits (with `words_of_memory` in words).
struct ExactOverflow {
  int step = 0, level = 0;
  double needed = 0, available = 0;
};

// Memories that the tiles of a step overfill. Tensors of other steps are those of
// looptree_cost.h's overflows().
std::vector<ExactOverflow> exact_overflows(const Chip& chip, const Cascade& cascade,
                                           const ExactCascadeCost& cost,
                                           const ExactOptions& options);

// A sentence with the einsum, the memory, its tiles and what is missing.
std::string to_text(const ExactOverflow& overflow, const Chip& chip, const Cascade& cascade,
                    const ExactCascadeCost& cost, const ExactOptions& options);

}  // namespace orrery
