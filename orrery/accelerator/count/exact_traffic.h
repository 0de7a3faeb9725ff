// Accesses of every memory by the convention exact (exact_count.h), for each holder and for its
// busiest instance.
//
//   fills    elements that a holder gains. Of an output these are partial sums that it takes up
//            again; those that begin at nothing are not fetched
//   reads    what the holder or the units inside are sent, once for all instances of an axis that
//            shares the tensor (ArrayAxis::shared) along a loop in space that does not move it; and
//            what an output sends back
//   updates  what the holder or the units inside send back of an output, added along such an axis
//   units    read an operand for each point, and keep nothing
//   toll     keeps nothing; what passes it is read there once
//
// Where loops in space move a tensor, each instance is sent its own tile, also where tiles overlap
// or are equal in a sum of dimensions (a halo in space, which Timeloop multicasts). Along an axis
// that shares an output, one instance takes up the partial sum.
//
// Einsums that share loops lose the tiles that are not held in these loops: memories are used by
// others before the loop goes on.
#pragma once

#include <cstddef>
#include <vector>

#include "orrery/accelerator/architecture/chip.h"
#include "orrery/accelerator/mapping/mapping.h"
#include "orrery/accelerator/problem/einsum.h"

namespace orrery {

// Elements that a memory reads and writes.
struct Moved {
  double reads = 0, fills = 0, updates = 0;
  double writes() const { return fills + updates; }
};

// A transfer between a holder and the one inside of it. Elements of the busiest instances of the
// two memories, in all and of the first tile of an operand or the last one of an output.
struct Transfer {
  int from = 0, to = 0;  // levels
  int tensor = 0;
  Moved above, below;              // of the instance of `from`, of the instance of `to`
  Moved first_above, first_below;  // before the units can begin
  Moved last_above, last_below;    // when the units have ended
};

struct ExactTensorTraffic {
  int level = 0, tensor = 0;
  double tile = 0;       // elements that an instance needs room for
  bool changes = false;  // the tile is not the same all the time
  Moved all;             // of all instances
  Moved busiest;         // of the busiest instance
  Moved computing;       // the part of `busiest` that units read and write
};

struct ExactTraffic {
  double steps = 1;                         // of a unit
  double points = 1;                        // operations of all units
  std::vector<ExactTensorTraffic> holders;  // in the order of the tensors, and outermost first
  std::vector<Transfer> transfers;
};

// `fused` as in count_looptree. REQUIRES: as count_exact; each tensor is held.
void count_exact_traffic(const Einsum& einsum, const Chip& chip, const Mapping& mapping,
                         std::size_t fused, ExactTraffic& out);

}  // namespace orrery
