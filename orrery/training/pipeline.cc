#include "orrery/training/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "orrery/base/error.h"
#include "orrery/training/pass_streams.h"

namespace orrery {
namespace {

constexpr double kNotYet = -1;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// A chunk on its stage.
struct Slot {
  int virtual_stage = 0;
  std::array<double, 4> pass{};  // seconds, by Pass
  const ChunkTimes* times = nullptr;
  double activation = 1;
  double gather = 0, gathered = 0;  // of its parameters: how long, and when they are there
  double reduce = 0, offload = 0;   // of its gradients
  int pieces = 1;                   // of all three
  bool fresh = true;                // no forward was there
  int left = 0;                     // gradients of weights to come
  bool sends_forward = false, sends_back = false;  // to another stage
};

struct Stage {
  std::size_t next = 0, end = 0;  // in the tasks
  double free = 0;                // of the compute stream
  double data_free = 0;           // of the data stream
  double host_free = 0;           // of the host stream
  double first_start = kNotYet, compute_end = 0, busy = 0;
  double waited = 0;                 // for weights, within a first forward
  double first_gather = 0;           // exposed before the first forward, if nothing hides it
  double reduces = 0, offloads = 0;  // put off to the end
  double alive = 0, peak = 0;
  std::ptrdiff_t waits_for = -1;  // index of an arrival
};

void check_times(const PipelineQuestion& q) {
  const auto good = [](Seconds t) { return std::isfinite(t.value()) && t >= Seconds(0); };
  if (q.chunks.size() != at(q.shape.virtual_stages())) {
    throw InputError(
        fmt::format("a pipeline of {} stages with {} chunks each needs {} chunks' "
                    "times, not {}",
                    q.shape.stages, q.shape.chunks, q.shape.virtual_stages(), q.chunks.size()));
  }
  for (std::size_t i = 0; i < q.chunks.size(); ++i) {
    const ChunkTimes& c = q.chunks[i];
    for (Seconds t :
         {c.forward, c.backward_input, c.backward_weight, c.parameter_gather, c.gradient_reduce,
          c.gradient_offload, c.offload, c.forward_exchange, c.backward_exchange, c.forward_experts,
          c.backward_experts, c.forward_tensor, c.backward_tensor, c.forward_context,
          c.backward_context, c.forward_sharded, c.backward_sharded}) {
      if (!good(t))
        throw InputError(fmt::format("pipeline chunk {}: a time of {} s", i, t.value()));
    }
    constexpr double kRounding = 1 + 1e-9;
    if (c.forward_exchange + c.forward_experts > kRounding * c.forward ||
        c.backward_exchange + c.backward_experts > kRounding * c.backward()) {
      throw InputError(fmt::format("pipeline chunk {}: its exchange is longer than its pass", i));
    }
    if (!(c.exchange_slowdown >= 1) || !std::isfinite(c.exchange_slowdown)) {
      throw InputError(
          fmt::format("pipeline chunk {}: a slowdown by exchange of {}", i, c.exchange_slowdown));
    }
    if (c.pieces < 1) throw InputError(fmt::format("pipeline chunk {}: {} pieces", i, c.pieces));
    if (!(c.activation >= 0) || !std::isfinite(c.activation)) {
      throw InputError(fmt::format("pipeline chunk {}: activations of {}", i, c.activation));
    }
  }
  if (!good(q.send)) throw InputError(fmt::format("pipeline send of {} s", q.send.value()));
  if (!(q.overlap_slowdown >= 1) || !std::isfinite(q.overlap_slowdown)) {
    throw InputError(
        fmt::format("overlap slowdown must be at least 1, not {}", q.overlap_slowdown));
  }
}

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
        with_events_(with_events) {
    slots_.resize(at(shape_.stages * per_stage_));
    stages_.resize(at(shape_.stages));
    arrivals_.assign(at(2 * shape_.micro_batches * virtual_stages_), kNotYet);
    place();
    tasks_.reserve(at(3 * shape_.micro_batches * virtual_stages_));
    for (int s = 0; s < shape_.stages; ++s) start_stage(s);
  }

  PipelineResult run() {
    for (int s = shape_.stages; s-- > 0;) ready_.push_back(s);
    while (!ready_.empty()) {
      const int s = ready_.back();
      ready_.pop_back();
      advance(s);
    }
    for (int s = 0; s < shape_.stages; ++s) {
      if (stages_[at(s)].next != stages_[at(s)].end) {
        throw std::logic_error(
            fmt::format("pipeline schedule {} deadlocks: stage {} of {}, {} "
                        "chunks, {} micro-batches",
                        schedule_.name(), s, shape_.stages, shape_.chunks, shape_.micro_batches));
      }
    }
    return result();
  }

 private:
  Slot& slot(int stage, int chunk) { return slots_[at(stage * per_stage_ + chunk)]; }

  // When the input of a forward of this virtual stage (of a backward: of the first
  // `virtual_stages_` after them) arrives at its stage.
  std::size_t arrival(bool backward, int micro_batch, int virtual_stage) const {
    return at((2 * micro_batch + (backward ? 1 : 0)) * virtual_stages_ + virtual_stage);
  }

  int& holder(int copy, int virtual_stage) {
    return holders_[at(copy * virtual_stages_ + virtual_stage)];
  }

  // Which stage holds what.
  void place() {
    holders_.resize(at(schedule_.copies() * virtual_stages_));
    for (int s = 0; s < shape_.stages; ++s) {
      for (int c = 0; c < per_stage_; ++c) {
        Slot& k = slot(s, c);
        k.virtual_stage = schedule_.virtual_stage(s, c, shape_);
        holder(c / shape_.chunks, k.virtual_stage) = s;
        const ChunkTimes& t = question_.chunks[at(k.virtual_stage)];
        k.pass = {t.forward.value(), t.backward().value(), t.backward_input.value(),
                  t.backward_weight.value()};
        k.times = &t;
        k.activation = t.activation;
        k.reduce = t.gradient_reduce.value();
        k.offload = t.gradient_offload.value();
        k.pieces = t.pieces;
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
    for (int k = 0; k < shape_.micro_batches; ++k) arrivals_[arrival(false, k, 0)] = 0;
  }

  // The order of the stage, and its gathers.
  void start_stage(int s) {
    Stage& stage = stages_[at(s)];
    stage.next = tasks_.size();
    schedule_.order(s, shape_, tasks_);
    stage.end = tasks_.size();
    for (std::size_t i = stage.next; i < stage.end; ++i) {
      const PipelineTask& task = tasks_[i];
      Slot& k = slot(s, task.chunk);
      if (task.pass == Pass::kBackward || task.pass == Pass::kBackwardWeight) ++k.left;
      if (task.pass != Pass::kForward || k.gathered != 0) continue;
      const double gather = question_.chunks[at(k.virtual_stage)].parameter_gather.value();
      if (gather == 0) continue;
      const double start = stage.data_free;
      k.gathered = stage.data_free = start + gather;
      k.gather = gather;
      if (!question_.overlap_gather) {
        stage.first_gather += gather;
      } else if (i == stage.next) {
        stage.first_gather += gather / (task.paired ? 1 : k.pieces);
      }
      record({TimelineEvent::Kind::kGather, Stream::kData, false, s, k.virtual_stage, 0,
              Seconds(start), Seconds(k.gathered)});
    }
    if (!question_.overlap_gather) stage.free = stage.data_free;
  }

  // Runs the stage's tasks until one's input is missing.
  void advance(int s) {
    Stage& stage = stages_[at(s)];
    while (stage.next != stage.end) {
      const PipelineTask& task = tasks_[stage.next];
      Slot& k = slot(s, task.chunk);
      double start = stage.free;
      if (!ready(stage, k, task, start)) return;
      if (!task.paired) {
        const double end = compute_alone(s, k, task, start);
        ++stage.next;
        if (with_events_) record_alone(s, k, task, start, end);
        finish(s, task, k, start, end);
        continue;
      }
      const PipelineTask& other = tasks_[stage.next + 1];
      Slot& o = slot(s, other.chunk);
      if (!ready(stage, o, other, start)) return;
      const PairSlots slots = pair_slots(*k.times, *o.times);
      const double end = compute(stage, start, slots.total().value());
      stage.next += 2;
      if (with_events_) record_pair(s, k, task, o, other, slots, start, end);
      // The pair's forward is alive beside what the backward frees.
      finish(s, task, k, start, end);
      finish(s, other, o, start, end);
      for (const auto& [half, slot] : {std::pair{&task, &k}, std::pair{&other, &o}}) {
        slot->fresh = false;
        if (makes_last(*half, *slot, 0)) reduce(s, *slot, end, 1);
      }
    }
  }

  // Whether the task makes the chunk's last gradients of weights, of which `left` are to come.
  static bool makes_last(const PipelineTask& task, const Slot& k, int left) {
    return (task.pass == Pass::kBackward || task.pass == Pass::kBackwardWeight) && k.left == left;
  }

  // When piece i of the weights is there.
  static double there(const Slot& k, int i) {
    return k.gathered - (k.pieces - 1 - i) * (k.gather / k.pieces);
  }

  // The end of a task that is no pair: piece by piece where weights come, or gradients go, so.
  double compute_alone(int s, Slot& k, const PipelineTask& task, double start) {
    Stage& stage = stages_[at(s)];
    const double work = k.pass[static_cast<std::size_t>(task.pass)];
    const bool gathers = task.pass == Pass::kForward && k.fresh && k.gather > 0;
    const bool reduces = makes_last(task, k, 1) && k.reduce + k.offload > 0;
    if (task.pass == Pass::kForward) k.fresh = false;
    const bool apart =
        (gathers && question_.overlap_gather) || (reduces && question_.overlap_reduce);
    const int pieces = apart ? k.pieces : 1;
    double end = start;
    for (int i = 0; i < pieces; ++i) {
      if (apart && gathers && i > 0 && there(k, i) > end) {
        stage.waited += there(k, i) - end;
        end = there(k, i);
      }
      end = compute(stage, end, work / pieces);
      if (reduces) reduce(s, k, end, pieces);
    }
    return end;
  }

  // Moves `start` to when the task's input is there; false, and the stage waits, if it never came.
  bool ready(Stage& stage, const Slot& k, const PipelineTask& task, double& start) {
    if (task.pass == Pass::kBackwardWeight) return true;
    const std::size_t input =
        arrival(task.pass != Pass::kForward, task.micro_batch, k.virtual_stage);
    if (arrivals_[input] == kNotYet) {
      stage.waits_for = static_cast<std::ptrdiff_t>(input);
      return false;
    }
    start = std::max(start, arrivals_[input]);
    if (task.pass != Pass::kForward) return true;
    const bool whole = task.paired || !k.fresh || !question_.overlap_gather;
    start = std::max(start, whole ? k.gathered : there(k, 0));
    return true;
  }

  // The end of `work` that starts now: slower while the data stream is busy, which until then has
  // no gap, for nothing is added to it before this end.
  double compute(Stage& stage, double start, double work) {
    if (stage.first_start == kNotYet) stage.first_start = start;
    const double beside = stage.data_free - start, slowdown = question_.overlap_slowdown;
    double end = start + work;
    if (beside > 0 && slowdown != 1) {
      const double slow = work * slowdown;
      end = slow <= beside ? start + slow : stage.data_free + (work - beside / slowdown);
    }
    stage.busy += end - start;
    stage.compute_end = end;
    stage.free = end;
    return end;
  }

  void finish(int s, const PipelineTask& task, Slot& k, double start, double end) {
    Stage& stage = stages_[at(s)];
    record({kind_of(task.pass), Stream::kCompute, task.paired || pair_, s, k.virtual_stage,
            task.micro_batch, Seconds(start), Seconds(end)});
    pair_ = task.paired;
    const int v = k.virtual_stage, copy = task.chunk / shape_.chunks;
    switch (task.pass) {
      case Pass::kForward:
        stage.alive += k.activation;
        stage.peak = std::max(stage.peak, stage.alive);
        if (v + 1 < virtual_stages_) {
          deliver(stage, holder(copy, v + 1), arrival(false, task.micro_batch, v + 1),
                  k.sends_forward, end);
        } else {
          deliver(stage, s, arrival(true, task.micro_batch, v), false, end);
        }
        return;
      case Pass::kBackward:
      case Pass::kBackwardInput:
        if (v > 0) {
          deliver(stage, holder(copy, v - 1), arrival(true, task.micro_batch, v - 1), k.sends_back,
                  end);
        }
        if (task.pass == Pass::kBackwardInput) return;
        break;
      case Pass::kBackwardWeight:
        break;
    }
    stage.alive -= k.activation;
    --k.left;
  }

  // An input arrives; a stage that waits for it goes on.
  void deliver(Stage& sender, int to, std::size_t what, bool sent, double end) {
    const double there = sent ? end + question_.send.value() : end;
    if (sent && question_.blocking_send) sender.free = there;
    arrivals_[what] = there;
    Stage& receiver = stages_[at(to)];
    if (receiver.waits_for != static_cast<std::ptrdiff_t>(what)) return;
    receiver.waits_for = -1;
    ready_.push_back(to);
  }

  // One of `pieces` of gradients over the ranks that hold the same weights, and then to the host.
  void reduce(int s, const Slot& k, double now, int pieces) {
    Stage& stage = stages_[at(s)];
    const auto put = [&](TimelineEvent::Kind kind, Stream stream, double length, double& free,
                         double& later) {
      if (length == 0) return;
      if (!question_.overlap_reduce) {
        later += length;
        deferred_.push_back(
            {kind, stream, false, s, k.virtual_stage, 0, Seconds(0), Seconds(length)});
        return;
      }
      const double start = std::max(now, free);
      now = free = start + length;
      record({kind, stream, false, s, k.virtual_stage, 0, Seconds(start), Seconds(now)});
    };
    put(TimelineEvent::Kind::kReduce, Stream::kData, k.reduce / pieces, stage.data_free,
        stage.reduces);
    put(TimelineEvent::Kind::kOffload, Stream::kHost, k.offload / pieces, stage.host_free,
        stage.offloads);
  }

  void record(const TimelineEvent& event) {
    if (with_events_) events_.push_back(event);
  }

  void record_pair(int s, const Slot& k, const PipelineTask& task, const Slot& o,
                   const PipelineTask& other, const PairSlots& slots, double start, double end) {
    for (const PassTransfer& t : transfers_beside(slots, Seconds(start), Seconds(end)))
      record(t, s, t.forward ? k : o, t.forward ? task : other);
  }

  void record_alone(int s, const Slot& k, const PipelineTask& task, double start, double end) {
    for (const PassTransfer& t :
         transfers_beside(*k.times, task.pass, Seconds(start), Seconds(end)))
      record(t, s, k, task);
  }

  void record(const PassTransfer& t, int s, const Slot& k, const PipelineTask& task) {
    record({t.kind, t.stream, false, s, k.virtual_stage, task.micro_batch, t.start, t.end});
  }

  PipelineResult result() {
    double makespan = 0, longest = 0, longest_exposed = 0;
    double first = std::numeric_limits<double>::infinity(), last = 0;
    for (Stage& stage : stages_) {
      if (stage.reduces > 0) stage.data_free = std::max(stage.compute_end, stage.data_free);
      const double reduced = std::max(stage.compute_end, stage.data_free + stage.reduces);
      if (stage.offloads > 0) stage.host_free = reduced;
      const double end = std::max(reduced, stage.host_free + stage.offloads);
      makespan = std::max(makespan, end);
      first = std::min(first, stage.first_start);
      last = std::max(last, stage.compute_end);
      const double span = end - (stage.first_start - stage.first_gather);
      if (span > longest) {
        longest = span;
        longest_exposed = stage.first_gather + (end - stage.compute_end);
      }
    }
    PipelineResult out;
    out.makespan = Seconds(makespan);
    out.total = Seconds(schedule_.staggered() ? longest : makespan);
    out.exposed_data = Seconds(schedule_.staggered() ? longest_exposed : first + (makespan - last));
    const double window = (out.total - out.exposed_data).value();
    out.busy.reserve(stages_.size());
    out.peak_activations.reserve(stages_.size());
    for (const Stage& stage : stages_) {
      out.busy.push_back(Seconds(stage.busy));
      out.peak_activations.push_back(stage.peak);
      if (window > 0) out.bubble += (1 - (stage.busy + stage.waited) / window) / shape_.stages;
    }
    out.bubble = std::max(out.bubble, 0.0);
    out.events = events();
    return out;
  }

  std::vector<TimelineEvent> events() {
    if (!with_events_) return {};
    for (TimelineEvent& e : deferred_) {
      Stage& stage = stages_[at(e.stage)];
      double& free = e.stream == Stream::kHost ? stage.host_free : stage.data_free;
      e.start = Seconds(free);
      e.end += e.start;
      free = e.end.value();
      events_.push_back(e);
    }
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
  const int per_stage_;  // slots
  const bool with_events_;
  bool pair_ = false;  // the task before is the other half of this one

  std::vector<Slot> slots_;
  std::vector<Stage> stages_;
  std::vector<int> holders_;
  std::vector<double> arrivals_;
  std::vector<PipelineTask> tasks_;
  std::vector<int> ready_;
  std::vector<TimelineEvent> events_, deferred_;
};

}  // namespace

PipelineResult run_pipeline(const PipelineSchedule& schedule, const PipelineQuestion& question,
                            bool with_events) {
  schedule.check(question.shape);
  check_times(question);
  return Run(schedule, question, with_events).run();
}

}  // namespace orrery
