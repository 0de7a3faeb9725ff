// The bounds (answer/bound_rows.h) of a collective.
#pragma once

#include "orrery/hardware/cluster.h"
#include "orrery/scenario/answer/answer.h"

namespace orrery {

// Appends them to Point::bounds. `p` has the metrics of the answer.
void bound_collective(const GroupLink& link, const Gpu& gpu, Point& p);

}  // namespace orrery
