#include "orrery/network/flow_simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "orrery/base/error.h"
#include "orrery/network/fair_share.h"
#include "orrery/network/flow_fold.h"
#include "orrery/network/timed_heap.h"

namespace orrery {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
// Times closer than this are one instant: equal times that were summed in another order.
constexpr double kSameInstant = 1e-12;
// States closer than this are the same.
constexpr double kSameState = 1e-9;

// The class of streams `stream` in operation `op`.
struct Task {
  std::int32_t op = 0, stream = 0;
  std::int32_t flow = 0;
  std::int32_t unstarted = 0;  // GPU classes (sender, receiver) that have not come to the operation
  std::int32_t first_task = 0;  // of the operation, less the pattern's first class
  std::int32_t count = 0;       // messages
  bool wired = false;           // they are on links
  bool sending = false;
  bool running = false;  // started and not all arrived
  int sent = 0, arrived = 0;
  std::int32_t place = 0;      // among the running ones
  double left = 0, since = 0;  // bytes of the message under way, as of a time
  double rate = 0;
  double bytes = 0, latency = 0;
  std::int32_t lane = 0;  // of that latency
};

// An operation on a class of GPUs that takes part in it.
struct Part {
  std::int32_t op = 0, gpu = 0;
  std::int32_t waits = 0;  // parts before it that have not ended
  std::int32_t open = 0;   // its classes of streams that are not done
  double time = 0;         // of computing
  bool ended = false;
};

class Simulation {
 public:
  Simulation(const Topology& topology, const FlowProgram& program, const FlowOptions& options)
      : topology_(topology),
        program_(program),
        options_(options),
        folded_(fold_flows(topology, program, options.fold)),
        shares_(capacities()) {
    set_up();
  }

  FlowResult run() {
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      if (parts_[p].waits == 0) ready_parts_.push_back(static_cast<std::int32_t>(p));
    }
    work();
    share();
    for (;;) {
      const double next = std::min({drains_.next(), arrivals_.next(), delays_.next()});
      if (next == kNever) break;
      now_ = next;
      const double until = now_ * (1 + kSameInstant);
      reference_moved_ = false;
      while (std::min({drains_.next(), arrivals_.next(), delays_.next()}) <= until) {
        count_event();
        if (delays_.next() <= until) {
          end_part(delays_.pop());
        } else if (arrivals_.next() <= until) {
          arrived(arrivals_.pop());
        } else {
          drained(drains_.pop());
        }
        work();
      }
      share();
      if (!options_.repeat_periods) continue;
      if (reference_ == kNoReference) choose_reference();
      if (reference_moved_ && reference_ >= 0) watch_period();
    }
    return result();
  }

 private:
  std::vector<double> capacities() const {
    std::vector<double> c;
    for (const auto& l : folded_.links) c.push_back(l.capacity);
    return c;
  }

  void set_up() {
    const std::size_t ops = program_.ops.size();
    first_part_.push_back(0);
    first_task_.push_back(0);
    std::vector<std::int32_t> everywhere(folded_.gpu_sample.size());
    for (std::size_t g = 0; g < everywhere.size(); ++g)
      everywhere[g] = static_cast<std::int32_t>(g);
    spans_.assign(ops, {kNever, 0});
    for (std::size_t o = 0; o < ops; ++o) {
      const FlowOp& op = program_.ops[o];
      const auto number = static_cast<std::int32_t>(o);
      if (op.pattern < 0) {
        if (op.gpus.empty()) {
          for (std::int32_t g : everywhere)
            parts_.push_back({number, g, 0, 0, op.time.value(), false});
        } else {
          std::vector<std::pair<std::int32_t, double>> at;
          for (std::size_t k = 0; k < op.gpus.size(); ++k) {
            const Seconds t = op.times.empty() ? op.time : op.times[k];
            at.emplace_back(folded_.gpu_class[static_cast<std::size_t>(op.gpus[k])], t.value());
          }
          std::sort(at.begin(), at.end());
          at.erase(std::unique(at.begin(), at.end()), at.end());
          for (const auto& [g, t] : at) parts_.push_back({number, g, 0, 0, t, false});
        }
      } else {
        const auto p = static_cast<std::size_t>(op.pattern);
        for (std::int32_t g : folded_.members[p]) parts_.push_back({number, g, 0, 0, 0, false});
      }
      for (auto i = static_cast<std::size_t>(first_part_.back()); i < parts_.size(); ++i) {
        if (!(parts_[i].time >= 0) || parts_[i].time == kNever) {
          throw InputError(
              fmt::format("operation {} ('{}') takes {} s", o, op.name, parts_[i].time));
        }
      }
      if (!(op.scale >= 0) || !std::isfinite(op.scale)) {
        throw InputError(
            fmt::format("operation {} ('{}') has a scale of {}", o, op.name, op.scale));
      }
      first_part_.push_back(static_cast<std::int32_t>(parts_.size()));
      if (op.pattern >= 0) add_tasks(number, op);
      first_task_.push_back(static_cast<std::int32_t>(tasks_.size()));
    }
    order();
    drains_.resize(tasks_.size());
    delays_.resize(parts_.size());
    followers();
  }

  void add_tasks(std::int32_t number, const FlowOp& op) {
    const auto p = static_cast<std::size_t>(op.pattern);
    const auto first = folded_.first_stream[p];
    for (auto s = first; s < folded_.first_stream[p + 1]; ++s) {
      const FoldedFlows::StreamClass& stream = folded_.streams[static_cast<std::size_t>(s)];
      Task t;
      t.op = number;
      t.stream = s;
      t.flow = shares_.add(stream.uses);
      t.first_task = first_task_.back() - first;
      t.unstarted = stream.from == stream.to ? 1 : 2;
      t.bytes = stream.bytes * op.scale;
      t.count = stream.count;
      t.wired = t.bytes > 0 && !stream.uses.empty();
      t.latency = stream.uses.empty() ? 0 : stream.latency + options_.message_overhead.value();
      if (t.latency > 0) t.lane = arrivals_.lane(t.latency);
      ++parts_[part(number, stream.from)].open;
      if (stream.from != stream.to) ++parts_[part(number, stream.to)].open;
      tasks_.push_back(t);
      if (tasks_.size() > kMostTasks) {
        throw InputError("the program is too large for the flow level; take fewer operations");
      }
    }
  }

  // The part of an operation on a class of GPUs; parts of an operation are sorted by class.
  std::size_t part(std::int32_t op, std::int32_t gpu) const {
    const auto begin = parts_.begin() + first_part_[static_cast<std::size_t>(op)];
    const auto end = first_part_.size() > static_cast<std::size_t>(op) + 1
                         ? parts_.begin() + first_part_[static_cast<std::size_t>(op) + 1]
                         : parts_.end();
    const auto it =
        std::lower_bound(begin, end, gpu, [](const Part& p, std::int32_t g) { return p.gpu < g; });
    return it == end || it->gpu != gpu ? parts_.size()
                                       : static_cast<std::size_t>(it - parts_.begin());
  }

  // Which parts wait for which.
  void order() {
    std::vector<std::pair<std::int32_t, std::int32_t>> edges;
    for (std::size_t o = 0; o < program_.ops.size(); ++o) {
      for (int before : program_.ops[o].after) {
        if (before < 0 || before >= static_cast<int>(program_.ops.size())) {
          throw InputError(
              fmt::format("operation {} comes after operation {}, which is not there", o, before));
        }
        for (auto p = first_part_[o]; p < first_part_[o + 1]; ++p) {
          const std::size_t q = part(before, parts_[static_cast<std::size_t>(p)].gpu);
          if (q == parts_.size()) continue;
          edges.emplace_back(static_cast<std::int32_t>(q), p);
          ++parts_[static_cast<std::size_t>(p)].waits;
        }
      }
    }
    std::sort(edges.begin(), edges.end());
    after_begin_.assign(parts_.size() + 1, 0);
    for (const auto& [q, p] : edges) {
      ++after_begin_[static_cast<std::size_t>(q) + 1];
      after_.push_back(p);
    }
    for (std::size_t i = 0; i < parts_.size(); ++i) after_begin_[i + 1] += after_begin_[i];
  }

  // Classes of streams that each class waits for, and that wait for it.
  void followers() {
    wait_begin_.push_back(0);
    for (const FoldedFlows::StreamClass& s : folded_.streams) {
      waits_.insert(waits_.end(), s.waits.begin(), s.waits.end());
      wait_begin_.push_back(waits_.size());
    }
    follower_begin_.assign(folded_.streams.size() + 1, 0);
    std::vector<std::pair<std::int32_t, std::int32_t>> edges;
    for (std::size_t s = 0; s < folded_.streams.size(); ++s) {
      for (const auto& w : folded_.streams[s].waits) {
        edges.emplace_back(w.other, static_cast<std::int32_t>(s));
        most_lag_ = std::max(most_lag_, w.lag);
      }
    }
    std::sort(edges.begin(), edges.end());
    edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
    for (const auto& [other, s] : edges) {
      ++follower_begin_[static_cast<std::size_t>(other) + 1];
      followers_.push_back(s);
    }
    for (std::size_t s = 0; s < folded_.streams.size(); ++s) {
      follower_begin_[s + 1] += follower_begin_[s];
    }
  }

  void count_event() {
    if (++events_ > options_.most_events) {
      throw InputError(
          fmt::format("more than {} events at flow level; take larger messages, fewer "
                      "GPUs or the analytical fidelity",
                      options_.most_events));
    }
  }

  const FoldedFlows::StreamClass& stream(const Task& t) const {
    return folded_.streams[static_cast<std::size_t>(t.stream)];
  }
  std::span<const FoldedFlows::Wait> waits(const Task& t) const {
    const auto s = static_cast<std::size_t>(t.stream);
    return {waits_.data() + wait_begin_[s], waits_.data() + wait_begin_[s + 1]};
  }
  Task& task(std::int32_t i) { return tasks_[static_cast<std::size_t>(i)]; }

  // Handles what has become ready, without recursion.
  void work() {
    while (!ready_parts_.empty() || !done_messages_.empty()) {
      if (!done_messages_.empty()) {
        const std::int32_t i = done_messages_.back();
        done_messages_.pop_back();
        arrived(i);
        continue;
      }
      const std::int32_t i = ready_parts_.back();
      ready_parts_.pop_back();
      begin_part(i);
    }
  }

  void begin_part(std::int32_t i) {
    Part& p = parts_[static_cast<std::size_t>(i)];
    const auto o = static_cast<std::size_t>(p.op);
    spans_[o].first = std::min(spans_[o].first, now_);
    if (program_.ops[o].pattern < 0) {
      delays_.set(i, now_ + p.time);
      return;
    }
    if (p.open == 0) return end_part(i);
    for (auto t = first_task_[o]; t < first_task_[o + 1]; ++t) {
      const FoldedFlows::StreamClass& s = stream(task(t));
      if ((s.from == p.gpu || s.to == p.gpu) && --task(t).unstarted == 0) start(t);
    }
  }

  void end_part(std::int32_t i) {
    Part& p = parts_[static_cast<std::size_t>(i)];
    p.ended = true;
    spans_[static_cast<std::size_t>(p.op)].second = now_;
    for (auto k = after_begin_[static_cast<std::size_t>(i)];
         k < after_begin_[static_cast<std::size_t>(i) + 1]; ++k) {
      const std::int32_t next = after_[static_cast<std::size_t>(k)];
      if (--parts_[static_cast<std::size_t>(next)].waits == 0) ready_parts_.push_back(next);
    }
    end_[static_cast<std::size_t>(p.gpu)] = now_;
  }

  void start(std::int32_t i) {
    Task& t = task(i);
    t.running = true;
    t.place = static_cast<std::int32_t>(running_.size());
    running_.push_back(i);
    if (t.count >= kWorthWatching) reference_ = kNoReference;
    forget_period();
    send_if_ready(i);
  }

  bool may_send(const Task& t) const {
    if (!t.running || t.sent >= t.count) return false;
    for (const FoldedFlows::Wait& w : waits(t)) {
      const Task& other = tasks_[static_cast<std::size_t>(t.first_task + w.other)];
      if (other.arrived < std::min(t.sent - w.lag + 1, other.count)) return false;
    }
    return true;
  }

  void send_if_ready(std::int32_t i) {
    Task& t = task(i);
    if (t.sending || !may_send(t)) return;
    t.sending = true;
    t.left = t.bytes;
    t.since = now_;
    if (!t.wired) {
      drains_.set(i, now_);
      return;
    }
    shares_.start(t.flow);
    t.rate = 0;
  }

  void drained(std::int32_t i) {
    Task& t = task(i);
    ++t.sent;
    reference_moved_ = reference_moved_ || i == reference_;
    if (t.latency > 0) {
      arrivals_.push(t.lane, now_ + t.latency, i);
    } else {
      done_messages_.push_back(i);
    }
    if (t.wired && may_send(t)) {
      // The next message takes over the share.
      t.left = t.bytes;
      t.since = now_;
      drains_.set(i, now_ + t.left / t.rate);
      return;
    }
    t.sending = false;
    if (t.wired) shares_.stop(t.flow);
    send_if_ready(i);
  }

  void arrived(std::int32_t i) {
    Task& t = task(i);
    ++t.arrived;
    for (auto k = follower_begin_[static_cast<std::size_t>(t.stream)];
         k < follower_begin_[static_cast<std::size_t>(t.stream) + 1]; ++k) {
      const std::int32_t f = t.first_task + followers_[static_cast<std::size_t>(k)];
      if (!task(f).sending) send_if_ready(f);
    }
    if (t.arrived < t.count) return;
    t.running = false;
    running_[static_cast<std::size_t>(t.place)] = running_.back();
    task(running_.back()).place = t.place;
    running_.pop_back();
    if (i == reference_) reference_ = kNoReference;
    forget_period();
    const FoldedFlows::StreamClass& s = stream(t);
    close(t.op, s.from);
    if (s.from != s.to) close(t.op, s.to);
  }

  void close(std::int32_t op, std::int32_t gpu) {
    const std::size_t p = part(op, gpu);
    if (--parts_[p].open == 0) end_part(static_cast<std::int32_t>(p));
  }

  // New rates after flows have begun or ended.
  void share() {
    shares_.settle([&](int flow) {
      Task& t = task(flow);  // flows are numbered as tasks are
      const double rate = shares_.rate(flow);
      if (rate == t.rate) {
        if (t.left == t.bytes && t.since == now_) drains_.set(flow, now_ + t.left / rate);
        return;
      }
      t.left = std::max(0.0, t.left - t.rate * (now_ - t.since));
      t.since = now_;
      t.rate = rate;
      const double end = now_ + t.left / rate;
      if (!(end < kNever)) {
        throw InputError(
            fmt::format("operation '{}': a message of {} bytes at {} B/s never arrives",
                        program_.ops[static_cast<std::size_t>(t.op)].name, t.bytes, rate));
      }
      drains_.set(flow, end);
    });
  }

  // --- periods -------------------------------------------------------------------------------
  // Whenever the reference stream (the longest one) has sent a message, the state is compared with
  // an earlier one, which is replaced at messages 1, 2, 4, 8, ... after it (Brent's cycle search).

  struct State {
    double time = -1;
    std::vector<std::int32_t> running;
    std::vector<int> sent, ahead;  // by each running task: in all; relative to the reference
    std::vector<double> left;      // share of the message under way; -1: none
    std::vector<std::pair<std::int32_t, double>> in_flight;
  };

  void forget_period() {
    saved_.time = -1;
    until_saved_ = 0;
    power_ = 1;
  }

  void choose_reference() {
    reference_ = kNothingToWatch;
    int most = kWorthWatching;
    for (std::int32_t i : running_) {
      const int open = task(i).count - task(i).sent;
      if (open > most) most = open, reference_ = i;
    }
  }

  void take_state(State& s) {
    s.time = now_;
    s.running = running_;
    s.sent.clear();
    s.ahead.clear();
    s.left.clear();
    const int base = task(reference_).sent;
    for (std::int32_t i : running_) {
      const Task& t = task(i);
      s.sent.push_back(t.sent);
      s.ahead.push_back(t.sent - base);
      s.left.push_back(t.sending && t.bytes > 0 ? (t.left - t.rate * (now_ - t.since)) / t.bytes
                                                : -1);
    }
    s.in_flight.clear();
    arrivals_.each(
        [&](std::int32_t what, double time) { s.in_flight.emplace_back(what, time - now_); });
    std::sort(s.in_flight.begin(), s.in_flight.end());
  }

  bool same(const State& a, const State& b) const {
    if (a.running != b.running || a.in_flight.size() != b.in_flight.size()) return false;
    const double step = b.time - a.time;
    for (std::size_t i = 0; i < a.ahead.size(); ++i) {
      // In step with the reference, or not moving at all.
      if (a.ahead[i] != b.ahead[i] && a.sent[i] != b.sent[i]) return false;
      if (std::abs(a.left[i] - b.left[i]) > kSameState) return false;
    }
    for (std::size_t i = 0; i < a.in_flight.size(); ++i) {
      if (a.in_flight[i].first != b.in_flight[i].first ||
          std::abs(a.in_flight[i].second - b.in_flight[i].second) > kSameState * step) {
        return false;
      }
    }
    return true;
  }

  void watch_period() {
    // Where much more is under way than is sent, comparing would cost more than it saves.
    if (arrivals_.size() > 64 + 16 * running_.size()) return;
    // Most often it is another state at first sight.
    const bool alike = until_saved_ > 0 && saved_.in_flight.size() == arrivals_.size() &&
                       saved_.running == running_;
    if (alike || until_saved_ <= 1) take_state(current_);
    if (until_saved_ > 0) {
      if (alike && same(saved_, current_)) return repeat();
      if (--until_saved_ > 0) return;
    }
    std::swap(saved_, current_);
    until_saved_ = power_;
    power_ *= 2;
  }

  // Passes over as many periods as leave every stream short of its last messages.
  void repeat() {
    const Task& reference = task(reference_);
    const int period = reference.sent - saved_.sent[static_cast<std::size_t>(reference.place)];
    const double length = now_ - saved_.time;
    std::int64_t times = std::numeric_limits<std::int32_t>::max();
    bool steady = period > 0 && length > 0;
    for (std::size_t k = 0; k < running_.size() && steady; ++k) {
      const Task& t = task(running_[k]);
      const bool moves = t.sent != saved_.sent[k];
      if (moves) {
        steady = saved_.sent[k] > most_lag_;
        times = std::min<std::int64_t>(times, (t.count - t.sent) / period - 2);
      }
      // One that moves and one that stands still may come to meet.
      for (const FoldedFlows::Wait& w : waits(t)) {
        const Task& other = tasks_[static_cast<std::size_t>(t.first_task + w.other)];
        const int whole = other.count;
        if (other.arrived == whole) continue;
        const bool others =
            other.running && other.sent != saved_.sent[static_cast<std::size_t>(other.place)];
        if (others == moves) continue;
        const int gap = std::abs(other.arrived - std::min(t.sent - w.lag + 1, whole));
        times = std::min<std::int64_t>(times, gap / period - 2);
      }
    }
    if (delays_.next() < kNever) {
      times = std::min(times, static_cast<std::int64_t>(
                                  std::min(1e9, std::floor((delays_.next() - now_) / length) - 1)));
    }
    if (!steady || times < 1) return forget_period();
    const double jump = length * static_cast<double>(times);
    for (std::size_t k = 0; k < running_.size(); ++k) {
      Task& t = task(running_[k]);
      t.since += jump;
      if (t.sent == saved_.sent[k]) continue;
      t.sent += period * static_cast<int>(times);
      t.arrived += period * static_cast<int>(times);
      repeated_ += period * times;
    }
    drains_.shift(jump);
    arrivals_.shift(jump);
    now_ += jump;
    forget_period();
  }

  FlowResult result() const {
    for (const Part& p : parts_) {
      if (!p.ended) {
        throw InputError(
            fmt::format("operation {} ('{}') never ends: operations or messages wait "
                        "for each other",
                        p.op, program_.ops[static_cast<std::size_t>(p.op)].name));
      }
    }
    FlowResult r;
    for (const auto& [start, end] : spans_) {
      r.ops.push_back({Seconds(start == kNever ? 0 : start), Seconds(end)});
      r.makespan = std::max(r.makespan, Seconds(end));
    }
    for (std::int32_t c : folded_.gpu_class) {
      r.gpu_end.push_back(Seconds(end_[static_cast<std::size_t>(c)]));
    }
    std::vector<double> bytes(folded_.links.size(), 0);
    for (const Task& t : tasks_) {
      for (const FairShare::Use& u : stream(t).uses) {
        bytes[static_cast<std::size_t>(u.link)] += u.times * t.bytes * t.count;
      }
    }
    for (std::size_t l = 0; l < bytes.size(); ++l) {
      const auto& link = folded_.links[l];
      const double time = r.makespan.value() * link.capacity;
      r.busiest.push_back(
          {link.sample, link.members, Bytes(bytes[l]), time > 0 ? bytes[l] / time : 0});
    }
    std::stable_sort(r.busiest.begin(), r.busiest.end(),
                     [](const auto& a, const auto& b) { return a.busy > b.busy; });
    if (r.busiest.size() > 16) r.busiest.resize(16);
    r.streams = folded_.unfolded_streams;
    r.classes = static_cast<std::int64_t>(folded_.streams.size());
    r.events = events_;
    r.repeated = repeated_;
    return r;
  }

  static constexpr std::size_t kMostTasks = 50'000'000;
  static constexpr int kWorthWatching = 16;                               // messages
  static constexpr std::int32_t kNothingToWatch = -1, kNoReference = -2;  // -2: to be chosen

  const Topology& topology_;
  const FlowProgram& program_;
  const FlowOptions options_;
  const FoldedFlows folded_;
  FairShare shares_;
  std::vector<Part> parts_;
  std::vector<Task> tasks_;
  std::vector<std::int32_t> first_part_, first_task_;  // of each operation, and the end
  std::vector<std::int32_t> after_begin_, after_;      // parts that wait for each part
  std::vector<std::int32_t> follower_begin_, followers_;
  std::vector<FoldedFlows::Wait> waits_;
  std::vector<std::size_t> wait_begin_;
  std::int32_t most_lag_ = 0;
  std::vector<std::pair<double, double>> spans_;
  std::vector<double> end_ = std::vector<double>(folded_.gpu_sample.size(), 0);
  IndexedTimes drains_, delays_;
  DelayLanes arrivals_;
  std::vector<std::int32_t> ready_parts_, done_messages_, running_;
  double now_ = 0;
  std::int32_t reference_ = kNothingToWatch;
  bool reference_moved_ = false;
  State saved_, current_;
  int until_saved_ = 0, power_ = 1;
  std::int64_t events_ = 0, repeated_ = 0;
};

}  // namespace

FlowResult simulate_flows(const Topology& topology, const FlowProgram& program,
                          const FlowOptions& options) {
  return Simulation(topology, program, options).run();
}

}  // namespace orrery
