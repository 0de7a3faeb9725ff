// What pipeline.cc keeps of each stage while it runs, and how long a task of one takes. Not for
// others.
#pragma once

#include <deque>
#include <vector>

#include "orrery/training/events/pipeline_types.h"
#include "orrery/training/events/stage_streams.h"

namespace orrery::pipeline {

// Of a time.
inline constexpr double kNotYet = -1;

// A chunk on its stage.
struct Slot {
  int virtual_stage = 0;
  const ScheduledChunk* times = nullptr;
  const ScheduledChunk* contended = nullptr;       // null: nothing of it leaves a node
  bool gathers = false;                            // its weights come at the beginning
  int pieces = 1, there = 0;                       // of the weights; and gradients
  bool fresh = true;                               // no forward was there
  int left = 0;                                    // gradients of weights to come
  bool sends_forward = false, sends_back = false;  // to another stage
};

// A piece of weights or gradients on the data stream.
struct Piece {
  Slot* slot = nullptr;
  TimelineEvent::Kind kind = TimelineEvent::Kind::kGather;
  double time = 0, on_port = 0, offload = 0;
  bool begins = true, ends = true;  // of the chunk's weights, first and last
};

struct Stage {
  std::size_t next = 0, end = 0;  // in the tasks
  // The task that runs, or two as a pair, in pieces.
  bool running = false, waits_for_piece = false;
  const PipelineTask *task = nullptr, *other = nullptr;
  Slot *slot = nullptr, *other_slot = nullptr;
  double start = 0, piece_start = 0;
  int piece = 0, pieces = 1;
  bool gathers = false, reduces = false;
  PassLoad load;  // of a piece
  int holds = 0;  // blocking sends

  std::deque<Piece> data;  // the first one travels
  std::size_t data_event = 0;
  std::vector<Piece> deferred;  // to the end
  int gathers_left = 0;         // pieces
  double data_end = 0, host_free = 0;

  double first_start = kNotYet, compute_end = 0, busy = 0;
  double waited = 0;        // for weights, within a first forward
  double first_gather = 0;  // exposed before the first forward, if nothing hides it
  double alive = 0, peak = 0;
};

inline bool makes_weights(const PipelineTask& task) {
  return task.pass == Pass::kBackward || task.pass == Pass::kBackwardWeight;
}

// Whether the task makes the chunk's last gradients of weights, of which `left` are to come.
inline bool makes_last(const PipelineTask& task, const Slot& k, int left) {
  return makes_weights(task) && k.left == left;
}

// The load and the pieces of the stage's task, or of its two tasks as a pair.
void load_alone(Stage& stage, const PipelineQuestion& question);
void load_pair(Stage& stage);

// InputError: a time is negative or not finite, or their number is not the shape's.
void check_times(const PipelineQuestion& question);

}  // namespace orrery::pipeline
