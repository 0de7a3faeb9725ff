// Accesses of a mapping by the convention of Timeloop (Parashar et al., ISPASS 2019; dense analysis
// of timeloop-model): a level refetches what its tile gains between one step and the next, for as
// long as the tile moves with the same stride; equal tiles of an array are multicast; a neighbour's
// tile of the step before is taken over a link where that lowers the accesses of the level above.
//
// For one tensor and one level above, let the loops in time outside of the lower level's tile be
// 1..k from the outermost, with n_j iterations and offsets o_j, and let K be the innermost of them
// that moves the tile. When loop j advances, the loops inside of it return to their start. The walk
// of Timeloop visits iterations 0 and 1 of each loop and weighs the second n_j - 1 times, so the
// tile then moves by
//
//   t_j = o_j - sum over i > j of o_i,   (n_j - 1) * product over i < j of n_i times,
//
// and fetches its whole volume, except that it fetches nothing if t_j is 0, and only what is new if
// j is K or t_j equals t_K. Each loop therefore takes one term: no walk is needed.
//
// If each rank of the tensor is one dimension, every move is at least as long as the tile and
// longer than the array reaches, so that each of these terms is the whole volume and no link is
// taken: the fetches are the volume times the iterations of the loops 1..K.
//
// Counts are of words. Those of a level are of one instance; every instance has the same. Imperfect
// factors are walked (imperfect.h).
#pragma once

#include <cstdint>
#include <vector>

#include "orrery/accelerator/architecture/chip.h"
#include "orrery/accelerator/mapping/mapping.h"
#include "orrery/accelerator/problem/einsum.h"

namespace orrery {

// Words that a level sends down: `accesses` in all, in `scatter` groups of `multicast` receivers.
struct Delivery {
  std::int64_t multicast = 1, scatter = 1;
  double accesses = 0;
  double hops = 0;  // of all groups together; 0 where no energy of a hop or router is given
};

struct TensorCounts {
  bool kept = false;
  double reads = 0, fills = 0, updates = 0;
  double tile = 0;                   // words of an instance's tile
  double partition = 0;              // of an output: words of an instance's share; else 0
  std::vector<Delivery> deliveries;  // to the level below
  double link_transfers = 0;         // words that instances of the level below pass to neighbours
};

struct LevelCounts {
  std::int64_t instances = 1;  // in use
  double active = 1;           // in use on average; less than `instances` with imperfect factors
  std::int64_t fanout = 1;     // instances of the level below that one instance feeds
  std::vector<TensorCounts> tensors;
};

struct NestCounts {
  std::vector<LevelCounts> levels;
  double steps = 1;                // cycles of compute
  std::int64_t compute_units = 1;  // in use
  double active_units = 1;         // in use on average
};

// REQUIRES: `mapping` is even and has levels of the chip alone; every dimension's loops cover its
// size; tensors have at most kMostRanks ranks.
class TimeloopCounter {
 public:
  TimeloopCounter(const Einsum& problem, const Chip& chip);
  // Replaces `out`; storage of `out` and of the counter is used again, so that nothing is allocated
  // once both are large enough. (Imperfect factors allocate.)
  void count(const Mapping& mapping, NestCounts& out);

 private:
  struct Scratch;
  void flatten(const Mapping& mapping, Scratch& s, NestCounts& out) const;
  void count_boundary(std::size_t tensor, std::size_t level, const Mapping& mapping, Scratch& s,
                      NestCounts& out) const;
  void count_deliveries(std::size_t tensor, const Mapping& mapping, Scratch& s,
                        NestCounts& out) const;
  void count_plain_deliveries(std::size_t tensor, const Mapping& mapping, Scratch& s,
                              NestCounts& out) const;
  void count_partial_deliveries(std::size_t tensor, const Mapping& mapping, Scratch& s,
                                NestCounts& out) const;
  void pass_bypassed(std::size_t tensor, const Scratch& s, NestCounts& out) const;
  static double united_words(const EinsumTensor& tensor, std::size_t outer, std::size_t level,
                             const Scratch& s);
  void count_accesses(std::size_t tensor, const Scratch& s, NestCounts& out) const;

  const Einsum* problem_;
  const Chip* chip_;
  std::vector<std::uint32_t> dims_;  // of each tensor: a bit for each dimension that moves it
  std::vector<char> plain_;  // of each tensor: each rank is a dimension that no other rank has
  bool hops_ = false;        // whether a network has energies of hops or routers
};

}  // namespace orrery
