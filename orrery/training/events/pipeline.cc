#include "orrery/training/events/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <stdexcept>

#include "orrery/base/error.h"
#include "orrery/training/events/pass_streams.h"
#include "orrery/training/events/pipeline_stage.h"
#include "orrery/training/events/stage_streams.h"

namespace orrery {
namespace {

using pipeline::kNotYet;
using pipeline::Piece;
using pipeline::Slot;
using pipeline::Stage;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

TimelineEvent::Kind kind_of(Pass pass) { return static_cast<TimelineEvent::Kind>(pass); }
static_assert(static_cast<int>(TimelineEvent::Kind::kBackwardWeight) ==
              static_cast<int>(Pass::kBackwardWeight));

class Run {
 public:
  Run(const PipelineSchedule& schedule, const PipelineQuestion& question, bool with_events)
      : schedule_(schedule),
        question_(question),
        shape_(question.shape),
        virtual_stages_(shape_.virtual_stages()),
        per_stage_(shape_.chunks * schedule.copies()),
        with_events_(with_events),
        streams_(shape_.stages, question.overlap_slowdown) {
    slots_.resize(at(shape_.stages * per_stage_));
    stages_.resize(at(shape_.stages));
    arrivals_.assign(at(2 * shape_.micro_batches * virtual_stages_), 0);
    receivers_.resize(arrivals_.size());
    place();
    tasks_.reserve(at(3 * shape_.micro_batches * virtual_stages_));
    for (int s = 0; s < shape_.stages; ++s) order(s);
  }

  PipelineResult run() {
    for (int s = 0; s < shape_.stages; ++s) gather(s);
    for (int s = 0; s < shape_.stages; ++s) advance(s);
    StageStreams::End e{};
    while (streams_.next(e)) {
      now_ = e.at;
      switch (e.what) {
        case StageStreams::What::kPass:
          piece_done(e.stage);
          break;
        case StageStreams::What::kData:
          data_done(e.stage);
          break;
        case StageStreams::What::kSend:
          if (question_.blocking_send) --stages_[at(e.stage)].holds;
          arrivals_[e.tag] = 1;
          advance(receivers_[e.tag]);
          advance(e.stage);
          break;
      }
    }
    for (int s = 0; s < shape_.stages; ++s) {
      if (stages_[at(s)].next != stages_[at(s)].end) {
        throw std::logic_error(
            fmt::format("pipeline schedule {} deadlocks: stage {} of {}, {} "
                        "chunks, {} micro-batches",
                        schedule_.name(), s, shape_.stages, shape_.chunks, shape_.micro_batches));
      }
    }
    PipelineResult result = pipeline::result_of(stages_, schedule_.staggered());
    result.events = events();
    return result;
  }

 private:
  Slot& slot(int stage, int chunk) { return slots_[at(stage * per_stage_ + chunk)]; }

  // Index in arrivals_ of the input of a forward, or backward, pass of a virtual stage.
  std::size_t arrival(bool backward, int micro_batch, int virtual_stage) const {
    return at((2 * micro_batch + (backward ? 1 : 0)) * virtual_stages_ + virtual_stage);
  }

  int& holder(int copy, int virtual_stage) {
    return holders_[at(copy * virtual_stages_ + virtual_stage)];
  }

  // Finds the chunks of every stage, and the stages between which they send.
  void place() {
    holders_.resize(at(schedule_.copies() * virtual_stages_));
    for (int s = 0; s < shape_.stages; ++s) {
      for (int c = 0; c < per_stage_; ++c) {
        Slot& k = slot(s, c);
        k.virtual_stage = schedule_.virtual_stage(s, c, shape_);
        holder(c / shape_.chunks, k.virtual_stage) = s;
        const ScheduledChunk& t = question_.chunks[at(k.virtual_stage)];
        k.times = &t;
        if (!question_.contended.empty()) k.contended = &question_.contended[at(k.virtual_stage)];
        k.there = k.pieces = t.pieces;
      }
    }
    for (int s = 0; s < shape_.stages; ++s) {
      for (int c = 0; c < per_stage_; ++c) {
        Slot& k = slot(s, c);
        const int copy = c / shape_.chunks, v = k.virtual_stage;
        k.sends_forward = v + 1 < virtual_stages_ && holder(copy, v + 1) != s;
        k.sends_back = v > 0 && holder(copy, v - 1) != s;
      }
    }
    for (int k = 0; k < shape_.micro_batches; ++k) arrivals_[arrival(false, k, 0)] = 1;
  }

  void order(int s) {
    Stage& stage = stages_[at(s)];
    stage.next = tasks_.size();
    schedule_.order(s, shape_, tasks_);
    stage.end = tasks_.size();
    for (std::size_t i = stage.next; i < stage.end; ++i)
      if (pipeline::makes_weights(tasks_[i])) ++slot(s, tasks_[i].chunk).left;
  }

  // Starts the gathering of the stage's weights, in the order of the chunks' first forwards.
  void gather(int s) {
    Stage& stage = stages_[at(s)];
    for (std::size_t i = stage.next; i < stage.end; ++i) {
      Slot& k = slot(s, tasks_[i].chunk);
      if (tasks_[i].pass != Pass::kForward || k.gathers) continue;
      const Seconds time = k.times->parameter_gather;
      if (time == Seconds(0)) continue;
      k.gathers = true, k.there = 0;
      if (!question_.overlap_gather) {
        stage.first_gather += time;
      } else if (i == stage.next) {
        stage.first_gather += time / (tasks_[i].paired ? 1 : k.pieces);
      }
      stage.gathers_left += k.pieces;
      Piece piece{&k, TimelineEvent::Kind::kGather, time / k.pieces,
                  k.times->gather_on_port / k.pieces};
      for (int n = 0; n < k.pieces; ++n) {
        piece.begins = n == 0, piece.ends = n == k.pieces - 1;
        send_data(s, piece);
      }
    }
  }

  // Starts the stage's next task if the stage is free and the task's input has arrived.
  void advance(int s) {
    Stage& stage = stages_[at(s)];
    if (stage.running || stage.holds > 0 || stage.next == stage.end) return;
    const PipelineTask& task = tasks_[stage.next];
    Slot& k = slot(s, task.chunk);
    if (!ready(stage, k, task)) return;
    stage.task = &task, stage.slot = &k;
    stage.other = nullptr;
    if (task.paired) {
      const PipelineTask& other = tasks_[stage.next + 1];
      Slot& o = slot(s, other.chunk);
      if (!ready(stage, o, other)) return;
      stage.other = &other, stage.other_slot = &o;
    }
    stage.next += task.paired ? 2 : 1;
    stage.running = true;
    stage.start = now_;
    if (stage.first_start == kNotYet) stage.first_start = now_;
    stage.piece = 0;
    if (task.paired) {
      pipeline::load_pair(stage);
    } else {
      pipeline::load_alone(stage, question_);
    }
    start_piece(s);
  }

  // Whether the task's input has arrived.
  bool ready(const Stage& stage, const Slot& k, const PipelineTask& task) const {
    if (!question_.overlap_gather && stage.gathers_left > 0) return false;
    if (task.pass == Pass::kBackwardWeight) return true;
    const bool forward = task.pass == Pass::kForward;
    if (!arrivals_[arrival(!forward, task.micro_batch, k.virtual_stage)]) return false;
    if (!forward) return true;
    const bool whole = task.paired || !k.fresh;
    return k.there >= (whole ? k.pieces : 1);
  }

  void start_piece(int s) {
    Stage& stage = stages_[at(s)];
    stage.piece_start = now_;
    streams_.start_pass(s, now_, stage.load);
  }

  void piece_done(int s) {
    Stage& stage = stages_[at(s)];
    stage.busy += now_ - stage.piece_start;
    stage.compute_end = now_;
    if (stage.reduces) reduce(s, *stage.slot, stage.pieces);
    if (++stage.piece == stage.pieces) return task_done(s);
    if (stage.gathers && stage.slot->there <= stage.piece) {
      stage.waits_for_piece = true;
    } else {
      start_piece(s);
    }
  }

  void task_done(int s) {
    Stage& stage = stages_[at(s)];
    stage.running = false;
    const PipelineTask& task = *stage.task;
    Slot& k = *stage.slot;
    if (stage.other == nullptr) {
      if (with_events_) record_alone(s);
      finish(s, task, k, stage.start);
    } else {
      const PipelineTask& other = *stage.other;
      Slot& o = *stage.other_slot;
      if (with_events_) record_pair(s);
      // The activations of the pair's forward exist while the backward frees others.
      finish(s, task, k, stage.start);
      finish(s, other, o, stage.start);
      for (const auto& [half, slot] : {std::pair{&task, &k}, std::pair{&other, &o}}) {
        slot->fresh = false;
        if (pipeline::makes_last(*half, *slot, 0)) reduce(s, *slot, 1);
      }
    }
    if (stage.next == stage.end) return end_stage(s);
    advance(s);
  }

  void finish(int s, const PipelineTask& task, Slot& k, Seconds start) {
    Stage& stage = stages_[at(s)];
    record({kind_of(task.pass), Stream::kCompute, task.paired || pair_, s, k.virtual_stage,
            task.micro_batch, start, now_});
    pair_ = task.paired;
    const int v = k.virtual_stage, copy = task.chunk / shape_.chunks;
    switch (task.pass) {
      case Pass::kForward:
        stage.alive += k.times->activation;
        stage.peak = std::max(stage.peak, stage.alive);
        if (v + 1 < virtual_stages_) {
          deliver(s, holder(copy, v + 1), arrival(false, task.micro_batch, v + 1), k.sends_forward);
        } else {
          deliver(s, s, arrival(true, task.micro_batch, v), false);
        }
        return;
      case Pass::kBackward:
      case Pass::kBackwardInput:
        if (v > 0)
          deliver(s, holder(copy, v - 1), arrival(true, task.micro_batch, v - 1), k.sends_back);
        if (task.pass == Pass::kBackwardInput) return;
        break;
      case Pass::kBackwardWeight:
        break;
    }
    stage.alive -= k.times->activation;
    --k.left;
  }

  // Sends an input to its stage, or passes it on if `from` holds the next virtual stage too.
  void deliver(int from, int to, std::size_t what, bool sent) {
    if (!sent) {
      arrivals_[what] = 1;
      return;
    }
    if (question_.blocking_send) ++stages_[at(from)].holds;
    receivers_[what] = to;
    streams_.start_send(from, to, now_, question_.send, question_.send_on_port, what);
  }

  // Reduces one of `pieces` pieces of a chunk's gradients over the ranks that hold the same
  // weights, and copies it to the host afterwards.
  void reduce(int s, Slot& k, int pieces) {
    const ScheduledChunk& t = *k.times;
    const Piece piece{&k, TimelineEvent::Kind::kReduce, t.gradient_reduce / pieces,
                      t.reduce_on_port / pieces, t.gradient_offload / pieces};
    if (!question_.overlap_reduce) {
      stages_[at(s)].deferred.push_back(piece);
    } else if (piece.time > Seconds(0)) {
      send_data(s, piece);
    } else {
      to_host(s, piece);
    }
  }

  void send_data(int s, const Piece& piece) {
    Stage& stage = stages_[at(s)];
    stage.data.push_back(piece);
    if (stage.data.size() == 1) start_data(s);
  }

  void start_data(int s) {
    Stage& stage = stages_[at(s)];
    const Piece& piece = stage.data.front();
    if (piece.begins) {
      stage.data_event = events_.size();
      record({piece.kind, Stream::kData, false, s, piece.slot->virtual_stage, 0, now_, now_});
    }
    streams_.start_data(s, now_, piece.time, piece.on_port);
  }

  void data_done(int s) {
    Stage& stage = stages_[at(s)];
    stage.data_end = now_;
    const Piece piece = stage.data.front();
    stage.data.pop_front();
    if (piece.ends && with_events_) events_[stage.data_event].end = now_;
    if (piece.kind == TimelineEvent::Kind::kGather) {
      ++piece.slot->there;
      --stage.gathers_left;
    } else {
      to_host(s, piece);
    }
    if (!stage.data.empty()) {
      start_data(s);
    } else if (!stage.deferred.empty() && stage.next == stage.end && !stage.running) {
      for (const Piece& p : stage.deferred) to_host(s, p);
    }
    if (stage.waits_for_piece && stage.slot->there > stage.piece) {
      stage.waits_for_piece = false;
      stage.waited += now_ - stage.compute_end;
      start_piece(s);
    }
    advance(s);
  }

  // Copies reduced gradients to an optimizer on the host.
  void to_host(int s, const Piece& piece) {
    if (piece.offload == Seconds(0)) return;
    Stage& stage = stages_[at(s)];
    const Seconds start = std::max(now_, stage.host_free);
    stage.host_free = start + piece.offload;
    record({TimelineEvent::Kind::kOffload, Stream::kHost, false, s, piece.slot->virtual_stage, 0,
            start, stage.host_free});
  }

  // The stage's last task is done: runs deferred reductions, and then their copies to the host.
  void end_stage(int s) {
    Stage& stage = stages_[at(s)];
    bool reduces = false;
    for (Piece p : stage.deferred) {
      if (p.time == Seconds(0)) continue;
      reduces = true;
      p.offload = Seconds(0);
      send_data(s, p);
    }
    if (reduces) return;
    for (const Piece& p : stage.deferred) to_host(s, p);
  }

  void record(const TimelineEvent& event) {
    if (with_events_) events_.push_back(event);
  }

  // Records the transfers during the pair that the stage has just ended.
  void record_pair(int s) {
    const Stage& stage = stages_[at(s)];
    const PairSlots slots = pair_slots(*stage.slot->times, *stage.other_slot->times);
    for (const PassTransfer& t : transfers_during(slots, stage.start, now_))
      record(t, s, t.forward ? *stage.slot : *stage.other_slot,
             t.forward ? *stage.task : *stage.other);
  }

  // Records the transfers during the task that the stage has just ended.
  void record_alone(int s) {
    const Stage& stage = stages_[at(s)];
    for (const PassTransfer& t :
         transfers_during(*stage.slot->times, stage.task->pass, stage.start, now_))
      record(t, s, *stage.slot, *stage.task);
  }

  void record(const PassTransfer& t, int s, const Slot& k, const PipelineTask& task) {
    record({t.kind, t.stream, false, s, k.virtual_stage, task.micro_batch, t.start, t.end});
  }

  std::vector<TimelineEvent> events() {
    if (!with_events_) return {};
    std::stable_sort(events_.begin(), events_.end(),
                     [](const TimelineEvent& a, const TimelineEvent& b) {
                       return a.stage != b.stage ? a.stage < b.stage : a.start < b.start;
                     });
    return std::move(events_);
  }

  const PipelineSchedule& schedule_;
  const PipelineQuestion& question_;
  const PipelineShape shape_;
  const int virtual_stages_;
  const int per_stage_;  // number of chunks of a stage
  const bool with_events_;
  StageStreams streams_;
  Seconds now_;
  bool pair_ = false;  // the task recorded before is the other half of the pair

  std::vector<Slot> slots_;
  std::vector<Stage> stages_;
  std::vector<int> holders_;
  std::vector<char> arrivals_;  // 1: the input has arrived
  std::vector<int> receivers_;  // stage to which an input is sent, by the index of arrivals_
  std::vector<PipelineTask> tasks_;
  std::vector<TimelineEvent> events_;
};

}  // namespace

PipelineResult run_pipeline(const PipelineSchedule& schedule, const PipelineQuestion& question,
                            bool with_events) {
  schedule.check(question.shape);
  pipeline::check_times(question);
  return Run(schedule, question, with_events).run();
}

}  // namespace orrery
