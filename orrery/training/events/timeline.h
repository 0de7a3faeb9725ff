// The events of a pipeline in Chrome's trace event format, which ui.perfetto.dev displays: one
// process, one thread for each stage, and one more for each further stream that it uses. Slices are
// named by pass and micro-batch: "F 3", "B 3" (both gradients), "I 3" and "W 3" (input gradients,
// weight gradients), "F 5 + B 3" (a pair). Gathers and reductions are named by virtual stage:
// "gather 1", "reduce 1".
#pragma once

#include <string>

#include "orrery/training/events/pipeline_types.h"

namespace orrery {

// The timeline, with one line for each event. A result without events gives an empty timeline.
std::string pipeline_trace(const PipelineResult& result);

}  // namespace orrery
