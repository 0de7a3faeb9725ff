// The state of one stage while pipeline.cc runs it, and the length of its tasks. Private to
// pipeline.cc.
#pragma once

#include <deque>
#include <vector>

#include "orrery/training/events/pipeline_types.h"
#include "orrery/training/events/stage_streams.h"

namespace orrery::pipeline {

// A time that has not come yet.
inline constexpr Seconds kNotYet{-1};

// A chunk on its stage.
struct Slot {
  int virtual_stage = 0;
  const ScheduledChunk* times = nullptr;
  const ScheduledChunk* contended = nullptr;  // nullptr: no pass communicates between nodes
  bool gathers = false;                       // its weights are gathered before the first forward
  int pieces = 1;                             // pieces of its weights and of its gradients
  int there = 0;                              // pieces of its weights that have arrived
  bool fresh = true;                          // no forward has started
  int left = 0;                               // passes of weight gradients that have not ended
  bool sends_forward = false, sends_back = false;  // its neighbours are on other stages
};

// A piece of weights or gradients on the data stream.
struct Piece {
  Slot* slot = nullptr;
  TimelineEvent::Kind kind = TimelineEvent::Kind::kGather;
  Seconds time{}, on_port{};
  Seconds offload{};                // its copy to the host afterwards
  bool begins = true, ends = true;  // it is the first, or last, piece of the chunk's weights
};

struct Stage {
  std::size_t next = 0, end = 0;  // indices of the next task and of the end of its tasks
  // The task that runs. A pair has two tasks.
  bool running = false;
  bool waits_for_piece = false;  // the task waits for the next piece of its weights
  const PipelineTask *task = nullptr, *other = nullptr;
  Slot *slot = nullptr, *other_slot = nullptr;
  Seconds start, piece_start;
  int piece = 0, pieces = 1;              // of the task
  bool gathers = false, reduces = false;  // each piece waits for weights, or makes gradients
  PassLoad load;                          // of one piece
  int holds = 0;                          // blocking sends that have not ended

  std::deque<Piece> data;  // queue of the data stream; the first piece is on its way
  std::size_t data_event = 0;
  std::vector<Piece> deferred;  // reductions after the last task
  int gathers_left = 0;         // pieces of weights that have not arrived
  Seconds data_end, host_free;

  Seconds first_start = kNotYet, compute_end, busy;
  Seconds waited;        // time of waiting for weights within a first forward
  Seconds first_gather;  // time before the first forward if nothing hides the gather
  double alive = 0, peak = 0;
};

inline bool makes_weights(const PipelineTask& task) {
  return task.pass == Pass::kBackward || task.pass == Pass::kBackwardWeight;
}

// Whether the task makes weight gradients and the chunk has `left` passes of that kind left.
inline bool makes_last(const PipelineTask& task, const Slot& k, int left) {
  return makes_weights(task) && k.left == left;
}

// Set the load and the pieces of the stage's task, or of its pair.
void load_alone(Stage& stage, const PipelineQuestion& question);
void load_pair(Stage& stage);

// The result of an iteration whose stages have ended, without the events of a timeline.
PipelineResult result_of(const std::vector<Stage>& stages, bool staggered);

// Throws InputError if a time is negative or not finite, or the number of times does not fit the
// shape.
void check_times(const PipelineQuestion& question);

}  // namespace orrery::pipeline
