// The bounds (answer/bound_rows.h) of requests to a served model.
#pragma once

#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/setup/served_model.h"

namespace orrery {

// The least work of the requests: the shortest prompt and output that any of them has.
struct LeastRequests {
  double isl = 1, osl = 1;  // of the shortest
  double cached = 0;        // most tokens of its prompt that are cached already
  double a_step = 1;        // most tokens of a sequence that one step yields
  double together = 1;      // most sequences under way, of all replicas
  double replicas = 1;
  bool same_layout = true;  // of all replicas
};

// Appends the bounds of the metrics that `p` has to Point::bounds.
void bound_requests(const ServedModel& served, const LeastRequests& least, Point& p);

}  // namespace orrery
