// A mapping drawn as a page of SVG: the nest as nested boxes, outermost first.
//
// A level is a box with a heading and a line for each tensor that it holds: the words of its tile,
// and what an instance reads, is filled with and takes as updates. A loop is a box inside of it; a
// loop in space is dashed and names its axis. The compute units stand innermost. Text is dark on
// white; a square before a tensor has the tensor's colour. The same mapping gives the same text.
#pragma once

#include <string>

#include "orrery/accelerator/cost/nest_cost.h"
#include "orrery/accelerator/mapping/mapping.h"
#include "orrery/accelerator/problem/einsum.h"

namespace orrery {

// REQUIRES: `counts` are those of the mapping, which is even.
std::string draw_mapping_svg(const Chip& chip, const Einsum& problem, const Mapping& mapping,
                             const NestCounts& counts);

}  // namespace orrery
