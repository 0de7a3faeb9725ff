#include "tests/law/reference_pipeline.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace orrery {
namespace {

struct Member {
  PipelineTask task;
  int virtual_stage = 0;
};
// One task, or two that run at once.
struct Item {
  std::vector<Member> members;
  double start = 0, end = 0, busy = 0;
};
struct Interval {
  double start = 0, end = 0;
};

// The end of `work` from `start` on, at 1/slowdown of the speed within the (ordered) intervals.
double worked(double start, double work, const std::vector<Interval>& slow, double slowdown) {
  double now = start;
  for (const Interval& i : slow) {
    if (i.end <= now) continue;
    if (i.start > now) {
      if (work <= i.start - now) return now + work;
      work -= i.start - now;
      now = i.start;
    }
    if (work * slowdown <= i.end - now) return now + work * slowdown;
    work -= (i.end - now) / slowdown;
    now = i.end;
  }
  return now + work;
}

bool makes_gradients(Pass pass) { return pass == Pass::kBackward || pass == Pass::kBackwardWeight; }

// The simulation: all starts and ends are worked out again from the last ones until none changes.
class Reference {
 public:
  Reference(const PipelineSchedule& schedule, const PipelineQuestion& q)
      : schedule_(schedule), q_(q), last_(q.shape.virtual_stages() - 1) {
    for (int s = 0; s < q.shape.stages; ++s) arrange(s);
    for (const Stage& stage : stages_) {
      for (const Item& item : stage.items) {
        for (const Member& m : item.members) {
          if (m.task.pass == Pass::kBackwardWeight) continue;
          maker_[{m.task.pass == Pass::kForward, m.task.micro_batch, m.virtual_stage}] = &item;
        }
      }
    }
  }

  PipelineResult run() {
    for (bool changed = true; changed;) {
      changed = false;
      for (int s = 0; s < q_.shape.stages; ++s) changed |= work_through(s);
    }
    return result();
  }

 private:
  struct Stage {
    std::vector<Item> items;
    std::vector<Interval> data;  // the data stream is busy
    double free = 0;             // the data stream from then on
    double reduces_after = 0, gathers_before = 0;
    std::map<int, double> gathered;  // by chunk: when its weights are there
    std::map<int, const Item*> last_gradient, first_forward;
  };

  const ScheduledChunk& chunk(int v) const { return q_.chunks[static_cast<std::size_t>(v)]; }
  Stage& stage(int s) { return stages_[static_cast<std::size_t>(s)]; }
  int copy_of(const Member& m) const { return m.task.chunk / q_.shape.chunks; }

  // The tasks of a stage, pairs joined.
  void arrange(int s) {
    for (int c = 0; c < q_.shape.chunks * schedule_.copies(); ++c)
      holder_[{c / q_.shape.chunks, schedule_.virtual_stage(s, c, q_.shape)}] = s;
    std::vector<PipelineTask> tasks;
    schedule_.order(s, q_.shape, tasks);
    auto& items = stages_.emplace_back().items;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      const Member m{tasks[i], schedule_.virtual_stage(s, tasks[i].chunk, q_.shape)};
      if (i > 0 && tasks[i - 1].paired) {
        items.back().members.push_back(m);
      } else {
        items.push_back({{m}});
      }
    }
  }

  double work_of(const Item& item) const {
    double work = 0;
    for (const Member& m : item.members) {
      const ScheduledChunk& c = chunk(m.virtual_stage);
      const Pass pass = m.task.pass;
      work += (pass == Pass::kForward         ? c.forward
               : pass == Pass::kBackwardInput ? c.backward_input
               : pass == Pass::kBackward      ? c.backward_input + c.backward_weight
                                              : c.backward_weight)
                  .value();
    }
    if (item.members.size() == 1) return work;
    // A pair: the forward's attention, experts and half exchanges against the backward's.
    const ScheduledChunk& f = chunk(item.members[0].virtual_stage);
    const ScheduledChunk& b = chunk(item.members[1].virtual_stage);
    const double sent_f = f.forward_exchange.value() / 2, sent_b = b.backward_exchange.value() / 2;
    const auto beside = [&](double compute, double sent) {
      return std::max(sent, compute + sent * (1 - 1 / f.exchange_slowdown));
    };
    const double attention_f = (f.forward - f.forward_experts).value() - 2 * sent_f;
    const double attention_b =
        (b.backward_input + b.backward_weight - b.backward_experts).value() - 2 * sent_b;
    return beside(attention_f, sent_b) + beside(b.backward_experts.value(), sent_f) +
           beside(f.forward_experts.value(), sent_b) + beside(attention_b, sent_f);
  }

  // Whether the result of a member is sent to another stage.
  bool leaves(int s, const Member& m) {
    if (m.task.pass == Pass::kBackwardWeight) return false;
    const int to = m.virtual_stage + (m.task.pass == Pass::kForward ? 1 : -1);
    return to >= 0 && to <= last_ && holder_[{copy_of(m), to}] != s;
  }

  // Puts all gathers on the data stream, and finds the first and last use of every chunk.
  void gather(Stage& at) {
    at.data.clear(), at.gathered.clear(), at.last_gradient.clear(), at.first_forward.clear();
    at.free = at.reduces_after = 0;
    for (const Item& item : at.items) {
      for (const Member& m : item.members) {
        const double gather = chunk(m.virtual_stage).parameter_gather.value();
        if (m.task.pass == Pass::kForward && !at.gathered.contains(m.task.chunk)) {
          if (gather > 0) at.data.push_back({at.free, at.free + gather});
          at.gathered[m.task.chunk] = at.free += gather;
          at.first_forward[m.task.chunk] = &item;
        }
        if (makes_gradients(m.task.pass)) at.last_gradient[m.task.chunk] = &item;
      }
    }
    // A task without a partner waits for the first piece of its gather only.
    const Member& opens = at.items[0].members[0];
    const ScheduledChunk& opened = chunk(opens.virtual_stage);
    const double whole = opened.parameter_gather.value();
    const double first_piece = whole / (at.items[0].members.size() > 1 ? 1 : opened.pieces);
    at.gathers_before =
        q_.overlap_gather ? at.gathered[opens.task.chunk] - whole + first_piece : at.free;
  }

  // When an item may start that follows one that ends at `before`.
  double start_of(int s, const Item& item, double before) {
    Stage& at = stage(s);
    double start = before;
    for (const Member& m : item.members) {
      const int v = m.virtual_stage, k = m.task.micro_batch;
      const bool forward = m.task.pass == Pass::kForward;
      if (m.task.pass == Pass::kBackwardWeight) {
        start = std::max(start, maker_.at({false, k, v})->end);
        continue;
      }
      const bool whole = item.members.size() > 1 || at.first_forward[m.task.chunk] != &item;
      if (forward && (whole || !q_.overlap_gather))
        start = std::max(start, at.gathered[m.task.chunk]);
      if (forward && v == 0) continue;
      const bool turns = !forward && v == last_;  // the loss
      const int from = turns ? v : forward ? v - 1 : v + 1;
      const double sent = holder_[{copy_of(m), from}] == s ? 0 : q_.send.value();
      start = std::max(start, maker_.at({forward || turns, k, from})->end + sent);
    }
    return start;
  }

  // Computes an item from `start` on; returns its start and end. A task without a partner is cut
  // into pieces. Each piece starts after its part of the weights has arrived. Each piece of the
  // last gradients is followed by its reduction.
  Interval compute(Stage& at, Item& item, double start) {
    const Member& only = item.members[0];
    const ScheduledChunk& times = chunk(only.virtual_stage);
    const bool alone = item.members.size() == 1;
    const bool gathers = alone && only.task.pass == Pass::kForward && q_.overlap_gather &&
                         at.first_forward[only.task.chunk] == &item;
    const bool reduces = alone && q_.overlap_reduce && at.last_gradient[only.task.chunk] == &item;
    const int pieces = gathers || reduces ? times.pieces : 1;
    double end = start;
    item.busy = 0;
    for (int i = 0; i < pieces; ++i) {
      if (gathers) {
        const double behind = times.parameter_gather.value() * (pieces - 1 - i) / pieces;
        end = std::max(end, at.gathered[only.task.chunk] - behind);
        if (i == 0) start = end;
      }
      const double from = end;
      end = worked(from, work_of(item) / pieces, at.data, q_.overlap_slowdown);
      item.busy += end - from;
      if (!reduces || times.gradient_reduce == Seconds(0)) continue;
      at.free = std::max(at.free, end);
      at.data.push_back({at.free, at.free + times.gradient_reduce.value() / pieces});
      at.free = at.data.back().end;
    }
    return {start, end};
  }

  // Reduces the gradients that an item completes and that no piece of it has reduced.
  void reduce(Stage& at, const Item& item) {
    if (item.members.size() == 1 && q_.overlap_reduce) return;
    for (const Member& m : item.members) {
      const double time = chunk(m.virtual_stage).gradient_reduce.value();
      if (!makes_gradients(m.task.pass) || at.last_gradient[m.task.chunk] != &item || time == 0)
        continue;
      if (q_.overlap_reduce) {
        at.free = std::max(at.free, item.end);
        at.data.push_back({at.free, at.free + time});
        at.free += time;
      } else {
        at.reduces_after += time;
      }
    }
  }

  // Works out the starts and ends of a stage again. False: none has changed.
  bool work_through(int s) {
    Stage& at = stage(s);
    gather(at);
    bool changed = false;
    double before = q_.overlap_gather ? 0 : at.free;
    for (Item& item : at.items) {
      const Interval now = compute(at, item, start_of(s, item, before));
      changed |= now.start != item.start || now.end != item.end;
      item.start = now.start, item.end = now.end;
      before = item.end;
      for (const Member& m : item.members)
        if (q_.blocking_send && leaves(s, m)) before = item.end + q_.send.value();
      reduce(at, item);
    }
    return changed;
  }

  // The most activations that are alive at once.
  double peak_of(const Stage& at) const {
    std::vector<std::pair<double, double>> changes;  // time, activations; frees before the rest
    for (const Item& item : at.items) {
      for (const Member& m : item.members) {
        const double size = chunk(m.virtual_stage).activation;
        if (m.task.pass == Pass::kForward) changes.push_back({item.start, size});
        if (makes_gradients(m.task.pass)) changes.push_back({item.end, -size});
      }
    }
    std::sort(changes.begin(), changes.end());
    double alive = 0, peak = 0;
    for (const auto& [time, change] : changes) peak = std::max(peak, alive += change);
    return peak;
  }

  PipelineResult result() const {
    PipelineResult out;
    double longest = -1, longest_exposed = 0, first = stages_[0].items[0].start, compute_end = 0;
    for (const Stage& at : stages_) {
      double busy = 0;
      for (const Item& item : at.items) busy += item.busy;
      out.busy.push_back(Seconds(busy));
      out.peak_activations.push_back(peak_of(at));
      const double begin = at.items[0].start, end = at.items.back().end;
      const double data_end = at.data.empty() ? 0 : at.data.back().end;
      const double whole = std::max(end, data_end) + at.reduces_after;
      out.makespan = std::max(out.makespan, Seconds(whole));
      first = std::min(first, begin);
      compute_end = std::max(compute_end, end);
      const double span = whole - (begin - at.gathers_before);
      if (span > longest) {
        longest = span;
        longest_exposed = at.gathers_before + (whole - end);
      }
    }
    out.total = schedule_.staggered() ? Seconds(longest) : out.makespan;
    out.exposed_data = Seconds(
        schedule_.staggered() ? longest_exposed : first + (out.makespan.value() - compute_end));
    return out;
  }

  const PipelineSchedule& schedule_;
  const PipelineQuestion& q_;
  int last_;
  std::vector<Stage> stages_;
  std::map<std::pair<int, int>, int> holder_;  // (copy, virtual stage) -> stage
  // (forward?, micro-batch, virtual stage) -> the item that makes it
  std::map<std::tuple<bool, int, int>, const Item*> maker_;
};

}  // namespace

PipelineResult reference_pipeline(const PipelineSchedule& schedule, const PipelineQuestion& q) {
  return Reference(schedule, q).run();
}

}  // namespace orrery
