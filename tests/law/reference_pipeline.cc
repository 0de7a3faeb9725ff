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

}  // namespace

PipelineResult reference_pipeline(const PipelineSchedule& schedule, const PipelineQuestion& q) {
  const int p = q.shape.stages, last = q.shape.virtual_stages() - 1;
  const auto chunk = [&](int v) -> const ScheduledChunk& {
    return q.chunks[static_cast<std::size_t>(v)];
  };
  const auto work_of = [&](const Item& item) {
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
  };

  std::vector<std::vector<Item>> stages(static_cast<std::size_t>(p));
  std::map<std::pair<int, int>, int> holder;  // (copy, virtual stage) -> stage
  // (forward?, micro-batch, virtual stage) -> the item that makes it
  std::map<std::tuple<bool, int, int>, const Item*> maker;
  for (int s = 0; s < p; ++s) {
    for (int c = 0; c < q.shape.chunks * schedule.copies(); ++c) {
      holder[{c / q.shape.chunks, schedule.virtual_stage(s, c, q.shape)}] = s;
    }
    std::vector<PipelineTask> tasks;
    schedule.order(s, q.shape, tasks);
    auto& items = stages[static_cast<std::size_t>(s)];
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      const Member m{tasks[i], schedule.virtual_stage(s, tasks[i].chunk, q.shape)};
      if (i > 0 && tasks[i - 1].paired) {
        items.back().members.push_back(m);
      } else {
        items.push_back({{m}});
      }
    }
  }
  for (const auto& items : stages) {
    for (const Item& item : items) {
      for (const Member& m : item.members) {
        if (m.task.pass == Pass::kBackwardWeight) continue;
        maker[{m.task.pass == Pass::kForward, m.task.micro_batch, m.virtual_stage}] = &item;
      }
    }
  }
  // Whether the result of a member is sent to another stage.
  const auto leaves = [&](int s, const Member& m) {
    const int copy = m.task.chunk / q.shape.chunks;
    if (m.task.pass == Pass::kBackwardWeight) return false;
    const int to = m.virtual_stage + (m.task.pass == Pass::kForward ? 1 : -1);
    return to >= 0 && to <= last && holder[{copy, to}] != s;
  };

  std::vector<std::vector<Interval>> data(stages.size());
  std::vector<double> reduces_after(stages.size(), 0), gathers_before(stages.size(), 0);
  for (bool changed = true; changed;) {
    changed = false;
    for (int s = 0; s < p; ++s) {
      auto& items = stages[static_cast<std::size_t>(s)];
      auto& busy = data[static_cast<std::size_t>(s)];
      // The data stream: all gathers; then, item by item, the reductions of chunks whose gradients
      // are complete.
      busy.clear();
      std::map<int, double> gathered;
      std::map<int, const Item*> last_gradient, first_forward;
      double free = 0;
      for (const Item& item : items) {
        for (const Member& m : item.members) {
          const double gather = chunk(m.virtual_stage).parameter_gather.value();
          if (m.task.pass == Pass::kForward && !gathered.contains(m.task.chunk)) {
            if (gather > 0) busy.push_back({free, free + gather});
            free += gather;
            gathered[m.task.chunk] = free;
            first_forward[m.task.chunk] = &item;
          }
          if (m.task.pass == Pass::kBackward || m.task.pass == Pass::kBackwardWeight) {
            last_gradient[m.task.chunk] = &item;
          }
        }
      }
      const double all_gathered = free;
      // A task without a partner waits for the first piece of its gather only.
      const Member& opens = items[0].members[0];
      const ScheduledChunk& opened = chunk(opens.virtual_stage);
      const double first_piece =
          opened.parameter_gather.value() / (items[0].members.size() > 1 ? 1 : opened.pieces);
      gathers_before[static_cast<std::size_t>(s)] =
          q.overlap_gather
              ? gathered[opens.task.chunk] - opened.parameter_gather.value() + first_piece
              : all_gathered;
      double& after = reduces_after[static_cast<std::size_t>(s)];
      after = 0;
      // The compute stream.
      double before = q.overlap_gather ? 0 : all_gathered;
      for (Item& item : items) {
        double start = before;
        for (const Member& m : item.members) {
          const int v = m.virtual_stage, k = m.task.micro_batch,
                    copy = m.task.chunk / q.shape.chunks;
          const bool forward = m.task.pass == Pass::kForward;
          if (m.task.pass == Pass::kBackwardWeight) {
            start = std::max(start, maker.at({false, k, v})->end);
            continue;
          }
          const bool whole = item.members.size() > 1 || first_forward[m.task.chunk] != &item;
          if (forward && (whole || !q.overlap_gather))
            start = std::max(start, gathered[m.task.chunk]);
          if (forward && v == 0) continue;
          const bool turns = !forward && v == last;  // the loss
          const int from = turns ? v : forward ? v - 1 : v + 1;
          const double sent = holder[{copy, from}] == s ? 0 : q.send.value();
          start = std::max(start, maker.at({forward || turns, k, from})->end + sent);
        }
        // A task without a partner is cut into pieces. Each piece starts after its part of the
        // weights has arrived. Each piece of the last gradients is followed by its reduction.
        const Member& only = item.members[0];
        const ScheduledChunk& times = chunk(only.virtual_stage);
        const bool alone = item.members.size() == 1;
        const bool gathers = alone && only.task.pass == Pass::kForward && q.overlap_gather &&
                             first_forward[only.task.chunk] == &item;
        const bool reduces = alone && q.overlap_reduce && last_gradient[only.task.chunk] == &item;
        const int pieces = gathers || reduces ? times.pieces : 1;
        double end = start;
        item.busy = 0;
        for (int i = 0; i < pieces; ++i) {
          if (gathers) {
            const double behind = times.parameter_gather.value() * (pieces - 1 - i) / pieces;
            end = std::max(end, gathered[only.task.chunk] - behind);
            if (i == 0) start = end;
          }
          const double from = end;
          end = worked(from, work_of(item) / pieces, busy, q.overlap_slowdown);
          item.busy += end - from;
          if (!reduces || times.gradient_reduce == Seconds(0)) continue;
          free = std::max(free, end);
          busy.push_back({free, free + times.gradient_reduce.value() / pieces});
          free = busy.back().end;
        }
        changed = changed || start != item.start || end != item.end;
        item.start = start;
        item.end = before = end;
        for (const Member& m : item.members) {
          if (q.blocking_send && leaves(s, m)) before = end + q.send.value();
          const double time = chunk(m.virtual_stage).gradient_reduce.value();
          if (m.task.pass == Pass::kForward || m.task.pass == Pass::kBackwardInput ||
              last_gradient[m.task.chunk] != &item || time == 0) {
            continue;
          }
          if (alone && q.overlap_reduce) continue;
          if (q.overlap_reduce) {
            free = std::max(free, end);
            busy.push_back({free, free + time});
            free += time;
          } else {
            after += time;
          }
        }
      }
    }
  }

  PipelineResult out;
  double longest = -1, longest_exposed = 0, first = stages[0][0].start, compute_end = 0;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const auto& items = stages[s];
    double busy = 0, data_end = data[s].empty() ? 0 : data[s].back().end;
    std::vector<std::pair<double, double>> changes;  // time, activations; frees before the rest
    for (const Item& item : items) {
      busy += item.busy;
      for (const Member& m : item.members) {
        const double size = chunk(m.virtual_stage).activation;
        if (m.task.pass == Pass::kForward) changes.push_back({item.start, size});
        if (m.task.pass == Pass::kBackward || m.task.pass == Pass::kBackwardWeight) {
          changes.push_back({item.end, -size});
        }
      }
    }
    std::sort(changes.begin(), changes.end());
    double alive = 0, peak = 0;
    for (const auto& [time, change] : changes) peak = std::max(peak, alive += change);
    out.busy.push_back(Seconds(busy));
    out.peak_activations.push_back(peak);
    const double whole = std::max(items.back().end, data_end) + reduces_after[s];
    out.makespan = std::max(out.makespan, Seconds(whole));
    first = std::min(first, items[0].start);
    compute_end = std::max(compute_end, items.back().end);
    const double span = whole - (items[0].start - gathers_before[s]);
    if (span > longest) {
      longest = span;
      longest_exposed = gathers_before[s] + (whole - items.back().end);
    }
  }
  out.total = schedule.staggered() ? Seconds(longest) : out.makespan;
  out.exposed_data = Seconds(schedule.staggered() ? longest_exposed
                                                  : first + (out.makespan.value() - compute_end));
  return out;
}

}  // namespace orrery
