#include "orrery/flow/simulation/flow_simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/base/index.h"
#include "orrery/flow/simulation/fair_share.h"
#include "orrery/flow/simulation/flow_fold.h"
#include "orrery/flow/simulation/flow_period.h"
#include "orrery/flow/simulation/flow_tasks.h"
#include "orrery/flow/simulation/timed_heap.h"

namespace orrery {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
// Times that differ by less than this, relatively, are one instant: equal times summed in another
// order.
constexpr double kSameInstant = 1e-12;

// Times are seconds, sizes bytes and rates B/s, as doubles: they are the keys and the state of the
// inner loop.
class Simulation {
 public:
  Simulation(const Topology& topology, const FlowProgram& program, const FlowOptions& options)
      : program_(program),
        options_(options),
        folded_(fold_flows(topology, program, options.fold)),
        work_(program, folded_, options.message_overhead),
        period_(work_),
        shares_(capacities()) {
    for (FlowTask& t : work_.tasks) {
      shares_.add(work_.stream(t).uses);  // flows are numbered as tasks are
      if (t.latency > 0) t.lane = arrivals_.lane(t.latency);
    }
    drains_.resize(work_.tasks.size());
    delays_.resize(work_.parts.size());
  }

  FlowResult run() {
    for (std::size_t p = 0; p < work_.parts.size(); ++p) {
      if (work_.parts[p].waits == 0) ready_parts_.push_back(static_cast<std::int32_t>(p));
    }
    handle_ready();
    share();
    for (;;) {
      const double next = std::min({drains_.next(), arrivals_.next(), delays_.next()});
      if (next == kNever) break;
      now_ = next;
      const double until = now_ * (1 + kSameInstant);
      while (std::min({drains_.next(), arrivals_.next(), delays_.next()}) <= until) {
        count_event();
        if (delays_.next() <= until) {
          end_part(delays_.pop());
        } else if (arrivals_.next() <= until) {
          arrived(arrivals_.pop());
        } else {
          drained(drains_.pop());
        }
        handle_ready();
      }
      share();
      if (options_.repeat_periods) skip_periods();
    }
    return result();
  }

 private:
  std::vector<BytesPerSecond> capacities() const {
    std::vector<BytesPerSecond> c;
    for (const auto& l : folded_.links) c.push_back(l.capacity);
    return c;
  }

  void count_event() {
    if (++events_ > options_.most_events) {
      throw InputError(
          fmt::format("more than {} events at flow level; take larger messages, fewer "
                      "GPUs or the analytical fidelity",
                      options_.most_events));
    }
  }

  // Handles all parts and messages that have become ready, without recursion.
  void handle_ready() {
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
    const FlowPart& p = work_.part(i);
    const auto o = static_cast<std::size_t>(p.op);
    spans_[o].first = std::min(spans_[o].first, now_);
    if (program_.ops[o].pattern < 0) {
      delays_.set(i, now_ + p.time);
      return;
    }
    if (p.open == 0) return end_part(i);
    for (auto t = work_.first_task(p.op); t < work_.first_task(p.op + 1); ++t) {
      const FoldedFlows::StreamClass& s = work_.stream(work_.task(t));
      if ((s.from == p.gpu || s.to == p.gpu) && --work_.task(t).unstarted == 0) start(t);
    }
  }

  void end_part(std::int32_t i) {
    FlowPart& p = work_.part(i);
    p.ended = true;
    spans_[index(p.op)].second = now_;
    for (std::int32_t next : work_.after(i)) {
      if (--work_.part(next).waits == 0) ready_parts_.push_back(next);
    }
    end_[index(p.gpu)] = now_;
  }

  void start(std::int32_t i) {
    work_.run(i);
    period_.started(i);
    send_if_ready(i);
  }

  void send_if_ready(std::int32_t i) {
    FlowTask& t = work_.task(i);
    if (t.sending || !work_.may_send(t)) return;
    t.sending = true;
    t.left = t.bytes;
    t.since = now_;
    if (!t.wired) {
      drains_.set(i, now_);
      return;
    }
    shares_.start(i);
    t.rate = 0;
  }

  void drained(std::int32_t i) {
    FlowTask& t = work_.task(i);
    ++t.sent;
    period_.sent(i);
    if (t.latency > 0) {
      arrivals_.push(t.lane, now_ + t.latency, i);
    } else {
      done_messages_.push_back(i);
    }
    if (t.wired && work_.may_send(t)) {
      // The next message takes over the share.
      t.left = t.bytes;
      t.since = now_;
      drains_.set(i, now_ + t.left / t.rate);
      return;
    }
    t.sending = false;
    if (t.wired) shares_.stop(i);
    send_if_ready(i);
  }

  void arrived(std::int32_t i) {
    FlowTask& t = work_.task(i);
    ++t.arrived;
    for (std::int32_t follower : work_.followers(t)) {
      const std::int32_t f = t.first_task + follower;
      if (!work_.task(f).sending) send_if_ready(f);
    }
    if (t.arrived < t.count) return;
    work_.stop(i);
    period_.ended(i);
    const FoldedFlows::StreamClass& s = work_.stream(t);
    close(t.op, s.from);
    if (s.from != s.to) close(t.op, s.to);
  }

  void close(std::int32_t op, std::int32_t gpu) {
    const std::int32_t p = work_.part_of(op, gpu);
    if (--work_.part(p).open == 0) end_part(p);
  }

  // Updates the rates after flows have begun or ended.
  void share() {
    shares_.settle([&](int flow) {
      FlowTask& t = work_.task(flow);
      const double rate = shares_.rate(flow).value();
      if (rate == t.rate) {
        if (t.left == t.bytes && t.since == now_) drains_.set(flow, now_ + t.left / rate);
        return;
      }
      t.left = std::max(0.0, t.left_at(now_));
      t.since = now_;
      t.rate = rate;
      const double end = now_ + t.left / rate;
      if (!(end < kNever)) {
        throw InputError(
            fmt::format("operation '{}': a message of {} bytes at {} B/s never arrives",
                        program_.ops[index(t.op)].name, t.bytes, rate));
      }
      drains_.set(flow, end);
    });
  }

  void skip_periods() {
    const double time = period_.skip(now_, arrivals_, delays_.next());
    if (time == 0) return;
    drains_.shift(time);
    arrivals_.shift(time);
    now_ += time;
  }

  FlowResult result() const {
    for (const FlowPart& p : work_.parts) {
      if (!p.ended) {
        throw InputError(
            fmt::format("operation {} ('{}') never ends: operations or messages wait "
                        "for each other",
                        p.op, program_.ops[index(p.op)].name));
      }
    }
    FlowResult r;
    for (const auto& [start, end] : spans_) {
      r.ops.push_back({Seconds(start == kNever ? 0 : start), Seconds(end)});
      r.makespan = std::max(r.makespan, Seconds(end));
    }
    for (std::int32_t c : folded_.gpu_class) {
      r.gpu_end.push_back(Seconds(end_[index(c)]));
    }
    std::vector<double> bytes(folded_.links.size(), 0);
    for (const FlowTask& t : work_.tasks) {
      for (const FairShare::Use& u : work_.stream(t).uses) {
        bytes[index(u.link)] += u.times * t.bytes * t.count;
      }
    }
    for (std::size_t l = 0; l < bytes.size(); ++l) {
      const auto& link = folded_.links[l];
      const double time = r.makespan.value() * link.capacity.value();
      r.busiest.push_back(
          {link.sample, link.members, Bytes(bytes[l]), time > 0 ? bytes[l] / time : 0});
    }
    std::stable_sort(r.busiest.begin(), r.busiest.end(),
                     [](const auto& a, const auto& b) { return a.busy > b.busy; });
    if (r.busiest.size() > 16) r.busiest.resize(16);
    r.streams = folded_.unfolded_streams;
    r.classes = static_cast<std::int64_t>(folded_.streams.size());
    r.events = events_;
    r.repeated = period_.repeated();
    return r;
  }

  const FlowProgram& program_;
  const FlowOptions options_;
  const FoldedFlows folded_;
  FlowTasks work_;
  FlowPeriod period_;
  FairShare shares_;
  std::vector<std::pair<double, double>> spans_{program_.ops.size(), {kNever, 0}};
  std::vector<double> end_ = std::vector<double>(folded_.gpu_sample.size(), 0);
  IndexedTimes drains_;  // by task: when its message has left
  IndexedTimes delays_;  // by part: when its computation ends
  DelayLanes arrivals_;
  std::vector<std::int32_t> ready_parts_, done_messages_;
  double now_ = 0;
  std::int64_t events_ = 0;
};

}  // namespace

FlowResult simulate_flows(const Topology& topology, const FlowProgram& program,
                          const FlowOptions& options) {
  return Simulation(topology, program, options).run();
}

}  // namespace orrery
