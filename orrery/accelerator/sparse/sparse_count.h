// Accesses of a counted mapping when zeros are compressed away, gated or skipped.
//
// A tensor that a level holds compressed has only its non-zeros moved. An access of a target is
// gated (takes its cycle, without its energy) or skipped (takes neither) if the tile of a tensor
// that the action is conditioned on is empty. The tile is that of one access: what the next level
// that holds the target works on, or a single element where the target goes to compute. What a
// level leaves out does not reach the levels below it, nor compute.
//
// A probability p leaves out floor(x * p) of x accesses; of the reads of an output (partial sums)
// floor(x * (1 - p)) are made. Metadata of the formats is not counted.
//
// Source: the model of Wu et al., Sparseloop, MICRO 2022. The roundings are inferred from four
// recorded results of timeloop-model, not taken from its documentation.
#pragma once

#include <vector>

#include "orrery/accelerator/count/timeloop_count.h"
#include "orrery/accelerator/sparse/density.h"

namespace orrery {

struct SparseAction {
  enum class Kind : std::uint8_t { kGate, kSkip };
  Kind kind = Kind::kGate;
  int level = 0;                // index into Chip::levels, or their number for compute
  int target = 0;               // the tensor; not used for compute
  std::vector<int> conditions;  // tensors
};

struct SparseDesign {
  std::vector<Density> densities;             // of each tensor
  std::vector<std::vector<bool>> compressed;  // by level and tensor
  std::vector<SparseAction> actions;
};

struct SparseAccesses {
  double random = 0, gated = 0, skipped = 0;
};

struct SparseTensorCounts {
  SparseAccesses reads, fills, updates;
  double tile = 0;  // words with data that an instance's tile is expected to hold
};

struct SparseCounts {
  std::vector<std::vector<SparseTensorCounts>> levels;  // by level and tensor
  SparseAccesses computes;                              // of all units together
  NestCounts made;      // the accesses that cost energy, and the steps of compute
  NestCounts occupied;  // the accesses that take bandwidth, and the steps of compute
};

// REQUIRES: `dense` are the counts of `mapping`; `design` has an entry for each tensor and level.
SparseCounts sparse_counts(const Einsum& problem, const Mapping& mapping, const NestCounts& dense,
                           const SparseDesign& design);

}  // namespace orrery
