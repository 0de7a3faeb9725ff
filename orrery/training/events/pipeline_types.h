// The question that the event level of a pipeline (pipeline.h) answers, and its answer.
#pragma once

#include <vector>

#include "orrery/base/units.h"
#include "orrery/training/schedules/schedule.h"

namespace orrery {

struct PipelineQuestion {
  PipelineShape shape;
  std::vector<ScheduledChunk> chunks;  // by virtual stage: shape.virtual_stages() of them
  // The same chunks where the communication of their passes takes twice as long on the port; empty:
  // none of it leaves a node.
  std::vector<ScheduledChunk> contended;
  Seconds send;          // of activations to the next virtual stage, or of gradients back
  Seconds send_on_port;  // of that (stage_streams.h); 0: stages are neighbours in a node
  bool blocking_send = false;
  double overlap_slowdown = 1;  // >= 1
  bool overlap_gather = true, overlap_reduce = true;
};

// A stage's streams. Tensor-parallel, context-parallel and expert communication and offloaded
// tensors stand where they run within a pass of all its layers: a pass is their time too
// (ScheduledChunk), whether or not anything hides them (pass_streams.h).
enum class Stream { kCompute, kData, kTensor, kContext, kExpert, kHost };
inline constexpr int kStreams = 6;

struct TimelineEvent {
  enum class Kind {
    kForward,
    kBackward,
    kBackwardInput,
    kBackwardWeight,
    kGather,
    kReduce,
    kTensor,
    kContext,
    kExchange,
    kOffload,
    kReload,
  };
  Kind kind = Kind::kForward;
  Stream stream = Stream::kCompute;
  bool paired = false;
  int stage = 0;
  int virtual_stage = 0;
  int micro_batch = 0;  // 0 on the data stream
  Seconds start, end;
};

struct PipelineResult {
  // From the first start to the last end, data and host streams included. Of a schedule with
  // staggered() stages: the longest time that one stage needs from its first gather or forward to
  // its last end. Iterations one after the other repeat with it: no task starts late by its own
  // stage.
  Seconds total;
  Seconds makespan;           // always from the first start to the last end
  std::vector<Seconds> busy;  // a stage: its computation, slowed down where it is
  // Idle share of total - exposed_data, mean over the stages; sends that hold a stage count as
  // idle, waiting for the next piece of the weights within a first forward does not.
  double bubble = 0;
  // Time in which no stage computes: before the first forward and after the last backward. Of
  // staggered stages: on the stage that `total` is of.
  Seconds exposed_data;
  // A stage's largest sum of ScheduledChunk::activation alive at once: from the start of a forward
  // to the end of its gradient of weights.
  std::vector<double> peak_activations;
  std::vector<TimelineEvent> events;  // on request: by stage, then by start
};

}  // namespace orrery
