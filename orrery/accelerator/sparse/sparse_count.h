// Accesses of a counted mapping when zeros are compressed away, gated or skipped.
//
//   stored with metadata  a memory whose tile has the expected share s of non-zeros makes
//                         x - floor(x (1 - s)) of x reads, fills and updates; a tile expected to
//                         have u metadata words in a rank takes ceil(u x / tile) of them
//   actions               an action that leaves out an access with the probability p leaves out
//                         floor(x p) of x accesses of its level (of the reads of an output,
//                         ceil(x p)): they are gated or skipped. What it leaves out does not reach
//                         the memories inside of it. Where one of them has an action with q of its
//                         own, that one leaves out 1 - (1 - q) / (1 - p) of what reaches it.
//   compute               operands are there with the probabilities of their densities, given what
//                         the actions left out; one that is stored with metadata and zero is not
//                         there, one stored dense and zero is there. Operations without operands do
//                         not exist; those with an operand missing or zero are skipped or gated if
//                         the design does so, else made
//   blocks                a memory that reads B words at once reads a compressed tile in
//                         sum P(k) ceil(k / B) blocks on average, not in its mean words / B
//
// Source: Wu et al., Sparseloop, MICRO 2022; timeloop-model (src/sparse-analysis,
// src/model/buffer.cpp), whose roundings these are.
#pragma once

#include <string>
#include <vector>

#include "orrery/accelerator/count/timeloop_count.h"
#include "orrery/accelerator/sparse/sparse_design.h"

namespace orrery {

struct SparseAccesses {
  double random = 0, gated = 0, skipped = 0;
};

struct SparseTensorCounts {
  SparseAccesses reads, fills, updates;                             // words of an instance
  SparseAccesses metadata_reads, metadata_fills, metadata_updates;  // bits of an instance
  double tile = 0;           // words that an instance must have room for
  double metadata_bits = 0;  // that an instance must have room for
  double density = 1;        // of a tile that is not empty, if the level outside knows empty ones
  double held = 1;           // share of the instances in use that hold a tile
  double blocking = 1;       // blocks of words over words / block
  double decompressions = 0, compressions = 0;  // words of an instance
};

struct SparseCounts {
  std::vector<std::vector<SparseTensorCounts>> levels;  // by level and tensor
  SparseAccesses computes;                              // of all units together
  // The dense counts with the accesses that take bandwidth (metadata in words), the expected tiles
  // and the steps of compute.
  NestCounts occupied;
};

// REQUIRES: `dense` are the counts of `mapping`; `design` has an entry for each tensor and level.
// Infeasible: ranks that do not fit the loops (fiber_tree.h), an action whose target no memory of
// the level or outside of it keeps.
SparseCounts sparse_counts(const Einsum& problem, const Chip& chip, const Mapping& mapping,
                           const NestCounts& dense, const SparseDesign& design);

// Sentences on memories whose metadata does not fit.
std::vector<std::string> metadata_violations(const Chip& chip, const SparseDesign& design,
                                             const SparseCounts& counts);

}  // namespace orrery
