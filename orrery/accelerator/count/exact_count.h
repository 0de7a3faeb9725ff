// Counts of the convention exact: what a nest does when it is run, where the conventions timeloop
// and looptree approximate.
//
//   steps        a loop whose factors do not divide its dimension runs to the end of the dimension:
//                7 values on 4 units take 2 steps, not 7 / 4
//   gains        a holder that is reached again keeps what it has, and gains only the elements that
//                it did not hold the time before; the overlap of tiles that slide over a sum of
//                dimensions (a halo) is kept on every advance, also where an outer loop advances
//                and the inner ones return to their start
//   first, last  elements of the first tile and of the last: what must arrive before work begins,
//                and what an output must still write when work has ended
//
// Loops may have any sizes whose product covers the dimension; what lies beyond its end is not
// done, so MappingNode::last is not needed. Loops in space stand as in looptree_count.h. The closed
// form is in tile_visits.h.
#pragma once

#include <vector>

#include "orrery/accelerator/architecture/chip.h"
#include "orrery/accelerator/mapping/mapping.h"
#include "orrery/accelerator/problem/einsum.h"

namespace orrery {

struct ExactHolder {
  int level = 0, tensor = 0;
  double gains = 0;  // elements of all instances; an output writes as many back
  double first = 0, last = 0;
};

struct ExactCounts {
  double steps = 1;
  std::vector<ExactHolder> holders;  // without the outermost of each tensor, which gains nothing
};

// REQUIRES: the loops of each dimension cover its size; a dimension occurs once in a tensor;
// tensors with sums of dimensions touch every element of their boxes.
void count_exact(const Einsum& einsum, const Mapping& mapping, ExactCounts& out);

// Steps of a unit: ExactCounts::steps alone.
double exact_steps(const Einsum& einsum, const Mapping& mapping);

}  // namespace orrery
