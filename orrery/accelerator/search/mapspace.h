// The mappings of an einsum on a chip: how the prime factors of every dimension are spread over the
// loops of the levels, the order of the loops in time, and the tensors that each level keeps.
//
// Every level with a memory has loops in time, and every axis of an array has loops in space. A
// constraint fixes the factor of a dimension there, bounds it, or fixes the order of loops.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "orrery/accelerator/architecture/chip.h"
#include "orrery/accelerator/mapping/mapping.h"
#include "orrery/accelerator/problem/einsum.h"
#include "orrery/base/node.h"
#include "orrery/base/random.h"

namespace orrery {

// The loops of one level in time, or along one axis of its array.
struct LoopConstraint {
  // The factor of each dimension; absent: free; 0: what the other loops leave.
  std::vector<std::optional<std::int64_t>> factors;
  std::vector<std::optional<std::int64_t>> most;  // the largest factor of each dimension
  std::vector<int> innermost;  // dimensions of the innermost loops, innermost first
};

struct LevelConstraints {
  LoopConstraint time;
  std::vector<LoopConstraint> space;       // of each axis
  std::vector<std::optional<bool>> keeps;  // of each tensor; absent: both are tried
};

// Constraints of each level. Without any, loops are free, and every memory keeps every tensor.
using MapspaceConstraints = std::vector<LevelConstraints>;
MapspaceConstraints unconstrained(const Einsum& problem, const Chip& chip);

// Constraints that the chip itself sets: a memory keeps tensors of the roles that it holds
// (StorageLevel::holds), the outermost one keeps all, and loops along an axis run over dimensions
// that do not move the tensors shared along it (ArrayAxis::shared).
MapspaceConstraints chip_constraints(const Einsum& problem, const Chip& chip);

// Reads constraints as Timeloop writes them: a list of targets with type temporal (factors,
// permutation), spatial (factors, permutation, split) or dataspace (keep, bypass). A factor "M=3"
// is fixed, "M<=3" bounds it. InputError: a type or a name that is unknown.
MapspaceConstraints read_timeloop_constraints(const Node& root, const Einsum& problem,
                                              const Chip& chip);

// One mapping of a mapspace.
struct MappingChoice {
  std::vector<int> place;               // the slot of each prime factor
  std::vector<std::vector<int>> order;  // of each slot, dimensions from the innermost loop
  std::vector<char> keeps;              // of each level and tensor
};

class Mapspace {
 public:
  // InputError: constraints fix factors that do not divide a dimension.
  Mapspace(const Einsum& problem, const Chip& chip, MapspaceConstraints constraints);

  // Draws a mapping: every prime factor goes to one of its slots, every order is as likely as any.
  void draw(RandomStream& random, MappingChoice& out) const;
  // Moves prime factors, drawn evenly, from loops in time to arrays that have instances to spare.
  void fill(RandomStream& random, MappingChoice& choice) const;
  // Moves prime factors, drawn evenly from loops in space that exceed an axis and from tiles that
  // exceed a memory, to the next loops in time further out, until the mapping fits. False: it
  // cannot.
  bool fit(RandomStream& random, MappingChoice& choice) const;
  // Moves a prime factor, swaps two loops of a level, or changes what a level keeps.
  void change(RandomStream& random, MappingChoice& choice) const;
  // Writes the mapping into `out`, whose storage is used again. False if loops in space exceed an
  // axis of an array, or a factor exceeds its bound.
  bool build(const MappingChoice& choice, Mapping& out);

  // The number of combinations of factors, orders and keeps, as a power of ten.
  double log10_size() const;

 private:
  struct Slot {
    int level = 0;
    int axis = -1;          // -1: in time
    std::int64_t most = 0;  // instances along the axis; 0: unbounded
    LoopConstraint constraint;
  };
  struct Prime {
    int dim = 0;
    std::int64_t value = 2;
    std::vector<int> slots;  // where it may go
  };
  void add_slots();
  void fix_factors();
  void shuffle(RandomStream& random, std::vector<int>& order, std::size_t from) const;
  // Iterations of all loops of slot `s`.
  std::int64_t used(const MappingChoice& choice, std::size_t s) const;
  bool fit_arrays(RandomStream& random, MappingChoice& choice) const;
  int slot_outside(std::size_t prime, int level) const;
  template <class Wanted>
  bool move_out(RandomStream& random, MappingChoice& choice, int level, const Wanted& wanted) const;

  const Einsum* problem_;
  const Chip* chip_;
  MapspaceConstraints constraints_;
  std::vector<Slot> slots_;
  std::vector<Prime> primes_;
  std::vector<std::int64_t> fixed_;              // of each slot and dimension; 1 where free
  std::vector<std::pair<int, int>> free_keeps_;  // level and tensor
  std::vector<std::int64_t> factors_;            // scratch of build()
};

}  // namespace orrery
