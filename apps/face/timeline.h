// Timelines in Chrome's trace event format, which ui.perfetto.dev opens.
#pragma once

#include <string>

#include "orrery/scenario/answer/answer.h"

namespace orrery::face {

// The steps of a simulated service (Point::steps): a process is an engine, a counter its requests
// and its use of KV memory.
std::string steps_trace(const Point& point);

// The timeline that the point has: Point::timeline of a pipeline or a replay, else its steps;
// empty: none was asked for.
std::string timeline_text(const Point& point);

}  // namespace orrery::face
