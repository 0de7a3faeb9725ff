// The events of a pipeline in Chrome's trace event format, which ui.perfetto.dev opens: one
// process, a thread a stage, and another for its data stream where there is one. Slices are named
// by pass and micro-batch: "F 3", "B 3" (both gradients), "I 3" and "W 3" (of the input, of the
// weights), "F 5 + B 3" (a pair); "gather 1" and "reduce 1" by virtual stage.
#pragma once

#include <string>

#include "orrery/training/events/pipeline.h"

namespace orrery {

// One line an event. Of a result without events: an empty timeline.
std::string pipeline_trace(const PipelineResult& result);

}  // namespace orrery
