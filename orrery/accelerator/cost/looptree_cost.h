// Time and energy of mappings counted by the convention looptree, and the room that they take.
//
//   memory       the accesses of its busiest instance, in bits, over its bandwidth; reads and
//                writes add up on a shared port and overlap on separate ports
//   compute      steps over the rate of a unit
//   einsum       the longest of these: all parts overlap perfectly. Filling, draining and starting
//                take no time
//   cascade      the sum over its einsums, fused or not
//   energy       accesses in bits over the bits of an access, times its energy; operations;
//                leakage of every instance over the time of the einsum
//   copy         computes nothing; its accesses count
//
// Source: the convention of AccelForge (1c1929c2), whose proved optima these reproduce.
#pragma once

#include <string>
#include <vector>

#include "orrery/accelerator/count/looptree_count.h"
#include "orrery/accelerator/mapping/cascade_mapping.h"

namespace orrery {

struct MemoryCost {
  double seconds = 0;
  double read_energy = 0, write_energy = 0, leakage = 0;  // joules
};

struct LooptreeCost {
  std::vector<MemoryCost> memories;  // one for each level of the chip
  double compute_seconds = 0, compute_energy = 0, compute_leakage = 0;
  double seconds = 0;
  double energy = 0;  // joules, with leakage
};

// Replaces `out`. `units` are the compute units that run the einsum.
void cost_looptree(const Chip& chip, const CascadeStep& step, const ComputeArray& units,
                   const LooptreeCounts& counts, LooptreeCost& out);

struct CascadeCost {
  std::vector<LooptreeCounts> counts;  // of each step
  std::vector<LooptreeCost> steps;
  double seconds = 0, energy = 0;
};

CascadeCost cost_cascade(const Chip& chip, const Cascade& cascade, const CascadeMapping& mapping);

// A memory whose tensors do not fit, or an axis with more iterations than instances.
struct Overflow {
  int step = 0, level = 0, axis = -1;  // axis: -1: the memory
  double needed = 0, available = 0;    // bits; instances
};

// The memories and axes that a mapping overfills, in each step: the tiles of the step's tensors,
// and of the tensors that earlier steps leave for later ones or that are persistent. Tiles are
// counted once; nothing is double-buffered.
std::vector<Overflow> overflows(const Chip& chip, const Cascade& cascade,
                                const CascadeMapping& mapping);

// A sentence with the einsum, the memory or axis, and what is missing.
std::string to_text(const Overflow& overflow, const Chip& chip, const Cascade& cascade);

}  // namespace orrery
