// An iteration event by event: every pass of every micro-batch on every stage, by pipeline.h. Where
// iteration.h has a closed form for stages that are nearly alike, this follows the schedule for
// any, with gradients and updated weights on a stream of their own, and tensor-parallel,
// context-parallel and expert communication on theirs where the plan runs them beside computation.
#pragma once

#include "orrery/training/events/pipeline.h"
#include "orrery/training/iteration/iteration.h"

namespace orrery {

// The question to the pipeline: chunks with the constants in. A stage's gradients and weights are
// divided among its chunks. Sends are beside computation but for the constant's share, which holds
// both ends.
PipelineQuestion pipeline_question(const IterationParts& parts, const TrainingConstants& k,
                                   const TrainingJob& job);

struct IterationEvents {
  PipelineResult pipeline;
  Seconds total;  // with the optimizer and the host around it
};
// REQUIRES that the schedule accepts the job. `with_events`: for a timeline.
IterationEvents iteration_events(const IterationParts& parts, const TrainingConstants& k,
                                 const TrainingJob& job, bool with_events = false);

}  // namespace orrery
