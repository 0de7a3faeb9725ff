// Points of answers as bytes, without breakdowns, requests, steps and traces, which a planner does
// not ask for.
#pragma once

#include <string>

#include "orrery/planner/store/value_bytes.h"
#include "orrery/scenario/answer/answer.h"

namespace orrery {

void write(ValueWriter& out, const Point& point);
Point read_point(ValueReader& in);

}  // namespace orrery
