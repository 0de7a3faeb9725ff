// The question that the event level of a pipeline (pipeline.h) answers, and its answer.
#pragma once

#include <vector>

#include "orrery/base/units.h"
#include "orrery/training/schedules/schedule.h"

namespace orrery {

struct PipelineQuestion {
  PipelineShape shape;
  std::vector<ScheduledChunk> chunks;  // by virtual stage: shape.virtual_stages() entries
  // The same chunks if the communication of their passes takes twice as long on the port. Empty: no
  // pass communicates between nodes.
  std::vector<ScheduledChunk> contended;
  Seconds send;          // of activations to the next virtual stage, or of gradients back
  Seconds send_on_port;  // time of a send on the port (stage_streams.h); 0: within a node
  bool blocking_send = false;
  double overlap_slowdown = 1;  // >= 1
  bool overlap_gather = true, overlap_reduce = true;
};

// The streams of a stage. A pass is drawn as one slice on the compute stream, and its
// tensor-parallel, context-parallel and expert communication and copies of saved tensors on the
// other streams during that slice (pass_streams.h).
enum class Stream { kCompute, kData, kTensor, kContext, kExpert, kHost };
inline constexpr int kStreams = 6;

// A slice of the timeline.
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
  // Time of an iteration: from the first start to the last end, data and host streams included. For
  // a schedule with staggered() stages it is the longest time that one stage needs from its first
  // gather or forward to its last end: iterations that follow each other repeat with this period.
  Seconds total;
  Seconds makespan;           // from the first start to the last end, of any schedule
  std::vector<Seconds> busy;  // by stage: time of its computation, with all slowdowns
  // Idle share of total - exposed_data, as the mean over the stages, 0 to 1. Sends that block a
  // stage count as idle time. Waiting for the next piece of weights within a first forward does
  // not.
  double bubble = 0;
  // Time in which no stage computes: before the first forward and after the last backward. For
  // staggered stages, the time of this kind on the stage that `total` is of.
  Seconds exposed_data;
  // By stage: the largest sum of ScheduledChunk::activation alive at once. An activation lives from
  // the start of its forward to the end of its weight gradients.
  std::vector<double> peak_activations;
  std::vector<TimelineEvent> events;  // if requested: by stage, then by start
};

}  // namespace orrery
