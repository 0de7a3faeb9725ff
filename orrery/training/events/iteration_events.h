// One iteration event by event: every pass of every micro-batch on every stage (pipeline.h).
// iteration.h has a closed form for stages that are nearly alike. This level follows the schedule
// for any stages. Gradients and updated weights have a stream of their own, and tensor-parallel,
// context-parallel and expert communication that overlaps with computation is run piece by piece.
#pragma once

#include "orrery/training/events/pipeline.h"
#include "orrery/training/iteration/iteration.h"

namespace orrery {

// The question to the pipeline, with the constants applied to its chunks. A stage's gradients and
// weights are divided equally among its chunks. Sends overlap with computation, except for the
// share TrainingConstant::kSend, which is a part of the passes on both sides.
PipelineQuestion pipeline_question(const IterationParts& parts, const TrainingConstants& k,
                                   const TrainingJob& job);

struct IterationEvents {
  PipelineResult pipeline;
  Seconds total;  // the pipeline, the optimizer, the host, and blocking reductions and gathers
};
// REQUIRES that the schedule accepts the job. `with_events`: the result has a timeline's events.
IterationEvents iteration_events(const IterationParts& parts, const TrainingConstants& k,
                                 const TrainingJob& job, bool with_events = false);
// The iteration of the closed form in the total of the events. What this has besides the parts that
// are not idle is idle time; where it leaves less than them, they shrink.
IterationTime in_total(IterationTime closed_form, Seconds total);

}  // namespace orrery
