// The slow, obvious pipeline: every task's start is the latest of what it waits for; all starts are
// computed again and again until none changes.
#pragma once

#include "orrery/training/events/pipeline.h"

namespace orrery {

// total, makespan, busy, peak_activations and exposed_data; no events.
PipelineResult reference_pipeline(const PipelineSchedule& schedule, const PipelineQuestion& q);

}  // namespace orrery
