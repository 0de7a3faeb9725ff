// One iteration of a pipeline, event by event.
//
// Every stage runs its schedule's order, one task after the other, each as soon as its inputs are
// there: a forward needs the forward of the virtual stage before, a backward that of the virtual
// stage after (the last: its own forward), `send` later where the other stage is another one; a
// gradient of weights needs its own stage's gradient of the input, which the order puts first.
//
// A stage has a second stream for data parallelism. Parameters are gathered from time 0 on, chunk
// after chunk in the order of their first forwards, which wait; gradients of a chunk are reduced
// when its last gradient of weights is there, first come first served: both piece by piece
// (ScheduledChunk::pieces). Without overlap_gather the stage gathers all before its first forward;
// without overlap_reduce it reduces all after its last task. While the data stream is busy,
// computation takes `overlap_slowdown` times as long. Gradients whose optimizer is on the host go
// there on a third stream, each piece when it is reduced.
//
// Transfers between nodes share the ports of their stages (stage_streams.h): sends, the data
// stream, and what passes send themselves, of which `contended` says how much longer it makes them.
//
// With blocking_send the sender's compute stream is held until what it sends has arrived
// (Megatron's non-interleaved 1F1B); else sends are beside it, any number at once.
#pragma once

#include "orrery/training/events/pipeline_types.h"
#include "orrery/training/schedules/schedule.h"

namespace orrery {

// InputError where a time is negative or not finite, or their number is not the shape's; what
// PipelineSchedule::check throws.
PipelineResult run_pipeline(const PipelineSchedule& schedule, const PipelineQuestion& question,
                            bool with_events = false);

}  // namespace orrery
