// One iteration of a pipeline, event by event.
//
// Every stage runs the tasks of its schedule's order one after the other, each as soon as its
// inputs have arrived. A forward needs the forward of the virtual stage before it. A backward needs
// the backward of the virtual stage after it; on the last virtual stage it needs the forward. Each
// input arrives `send` later if another stage makes it. A pass of weight gradients needs the input
// gradients of its own stage, which the order puts first.
//
// A stage has a second stream for data parallelism. It gathers parameters from time 0 on, chunk
// after chunk in the order of their first forwards, which wait for them. It reduces the gradients
// of a chunk when the last weight gradients of the chunk exist, first come, first served. Both
// transfers are in pieces (ScheduledChunk::pieces). Without overlap_gather the stage gathers
// everything before its first forward; without overlap_reduce it reduces everything after its last
// task. Computation takes `overlap_slowdown` times as long while the data stream runs. Gradients
// whose optimizer is on the host are copied there on a third stream, each piece when it is reduced.
//
// Transfers between nodes share the ports of their stages (stage_streams.h): sends, the data
// stream, and the communication within passes, for which `contended` has the longer times.
//
// With blocking_send a stage computes nothing until what it sends has arrived (Megatron's 1F1B
// without interleaving). Otherwise sends overlap with computation, any number at a time.
#pragma once

#include "orrery/training/events/pipeline_types.h"
#include "orrery/training/schedules/schedule.h"

namespace orrery {

// Runs one iteration. `with_events`: the result has the events of a timeline. Throws InputError if
// a time is negative or not finite or the number of times does not fit the shape, and the errors of
// PipelineSchedule::check.
PipelineResult run_pipeline(const PipelineSchedule& schedule, const PipelineQuestion& question,
                            bool with_events = false);

}  // namespace orrery
