// A mapping of a cascade: one mapping for each einsum, whose outermost nodes may be common.
//
// Einsums that share loops in time run inside of them, one after another in each iteration; a
// tensor held above such loops passes from one to the next in tiles (fusion).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "orrery/accelerator/architecture/chip.h"
#include "orrery/accelerator/mapping/mapping.h"
#include "orrery/accelerator/problem/cascade.h"

namespace orrery {

struct StepMapping {
  Mapping mapping;
  std::size_t fused = 0;  // nodes, from the outermost, that other steps share
  int beside = -1;        // runs on this one of Chip::beside; -1: on Chip::compute
};

struct CascadeMapping {
  std::vector<StepMapping> steps;  // one for each step of the cascade
};

// Reads the text form in which AccelForge prints a mapping, a node a line:
//
//   [W0,T0 in MainMemory]            holders
//   T-m in [0..4) shape=16           a loop in time over m that leaves tiles of 16
//   S-reuse_input-n1 in [0..64) shape=1   a loop in space along the axis reuse_input
//   Split                            branches follow, indented; each einsum ends its branch
//   MAC computes Matmul0
//
// Lines with `reserves` are skipped: room is counted here. `text` may hold several einsums; each of
// the cascade must occur once. Messages name `name` and the line, counted from `first_line`.
//
// InputError: a line of no known form; an unknown memory, axis, tensor, dimension, compute unit or
// einsum; loops that do not multiply to a dimension's size; a tensor without holder; a loop below
// an array that the einsum's compute unit does not stand under.
CascadeMapping read_looptree_text(const std::string& text, const std::string& name, int first_line,
                                  const Cascade& cascade, const Chip& chip);

}  // namespace orrery
