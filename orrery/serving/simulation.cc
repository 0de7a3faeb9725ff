#include "orrery/serving/simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <queue>

#include "orrery/base/error.h"
#include "orrery/serving/router.h"

namespace orrery {
namespace {

class Simulation : public ReplicaObserver {
 public:
  Simulation(const SimulationConfig& config, const RequestLoad& load, StepTimer& timer)
      : config_(config), load_(load), router_(make_router(config.router, config.seed)) {
    if (config.replicas < 1) throw InputError("a service needs at least one replica");
    replicas_.reserve(static_cast<std::size_t>(config.replicas));
    for (std::int64_t i = 0; i < config.replicas; ++i)
      replicas_.emplace_back(config.replica, make_scheduler(config.scheduler), load, timer, *this);
    result_.records.resize(load.requests.size());
  }

  SimulationResult run() {
    check_load();
    // Requests enter a queue request_overhead after they were sent.
    std::size_t next = 0;
    while (true) {
      const SimTime arrival = next_entry(next);
      const SimTime step = ends_.empty() ? kNever : ends_.top().time;
      if (arrival == kNever && step == kNever) break;
      if (arrival <= step) {
        enter(next++, arrival);
      } else {
        end_step();
      }
    }
    if (outstanding_ > 0 || next < load_.requests.size())
      throw std::logic_error("simulation: requests wait and nothing runs");
    for (const Replica& r : replicas_) result_.replicas.push_back(r.counts());
    return std::move(result_);
  }

 private:
  struct End {
    SimTime time;
    std::uint64_t sequence;
    std::uint32_t replica;
    bool operator<(const End& o) const {  // the earliest is on top
      return time != o.time ? time > o.time : sequence > o.sequence;
    }
  };

  void check_load() const {
    const auto late = [](const Request& a, const Request& b) { return a.arrival > b.arrival; };
    const auto at = std::adjacent_find(load_.requests.begin(), load_.requests.end(), late);
    if (at != load_.requests.end()) {
      throw InputError(fmt::format("requests must be in order of arrival: number {} is before {}",
                                   at - load_.requests.begin() + 2,
                                   at - load_.requests.begin() + 1));
    }
  }

  // When the next request is in a queue; kNever if there is none or it must wait for another to
  // end.
  SimTime next_entry(std::size_t next) const {
    if (next == load_.requests.size()) return kNever;
    const SimTime sent = sent_at(next);
    if (sent == kNever) return kNever;
    return std::max(sent, admitted_) + config_.frontend_per_request + config_.request_overhead;
  }

  // When its client sends it.
  SimTime sent_at(std::size_t index) const {
    const SimTime arrival = load_.requests[index].arrival;
    if (config_.max_concurrency == 0 || static_cast<std::int64_t>(index) < config_.max_concurrency)
      return arrival;
    return released_.empty() ? kNever : std::max(arrival, released_.front());
  }
  // One that ends lets another be sent.
  void release(SimTime now) {
    if (config_.max_concurrency > 0) released_.push_back(now);
  }

  void enter(std::size_t index, SimTime now) {
    const Request& r = load_.requests[index];
    RequestRecord& record = result_.records[index];
    record.arrival = sent_at(index);
    admitted_ = now - config_.request_overhead;
    if (config_.max_concurrency > 0 && static_cast<std::int64_t>(index) >= config_.max_concurrency)
      released_.pop_front();
    record.queued = now;
    record.input = r.input;
    record.output = r.output;
    const SchedulerLimits& l = config_.replica.limits;
    const std::int64_t tokens = std::int64_t{r.input} + r.output;
    if (l.max_model_len > 0 && tokens > l.max_model_len) {
      record.outcome = Outcome::kTooLong;
      return release(now);
    }
    // The last token is never cached.
    if ((tokens - 1 + l.block_size - 1) / l.block_size > config_.replica.kv_blocks) {
      record.outcome = Outcome::kNeverFits;
      return release(now);
    }
    const std::size_t to = router_->route(r, replicas_);
    record.replica = static_cast<std::int32_t>(to);
    ++outstanding_;
    Replica& replica = replicas_[to];
    const bool idle = replica.next() == kNever;
    replica.enter(static_cast<std::uint32_t>(index));
    replica.dispatch(now);
    if (idle) push_end(to);
  }

  void end_step() {
    const End end = ends_.top();
    ends_.pop();
    Replica& replica = replicas_[end.replica];
    replica.end_step();
    replica.dispatch(end.time);
    push_end(end.replica);
  }

  void push_end(std::size_t replica) {
    const SimTime next = replicas_[replica].next();
    if (next != kNever) ends_.push({next, sequence_++, static_cast<std::uint32_t>(replica)});
  }

  void scheduled(std::uint32_t request, SimTime now, std::int32_t cached) override {
    result_.records[request].scheduled = now;
    result_.records[request].cached = cached;
  }
  void evicted(std::uint32_t request) override { ++result_.records[request].evictions; }
  void stalled(std::uint32_t request) override { ++result_.records[request].stalls; }
  void token(std::uint32_t request, SimTime now, SimTime before, bool first) override {
    if (first) {
      result_.records[request].first_token = now;
    } else {
      result_.gaps.add(now - before);
    }
  }
  void finished(std::uint32_t request, SimTime now) override {
    result_.records[request].finished = now;
    result_.records[request].outcome = Outcome::kDone;
    result_.end = std::max(result_.end, now);
    release(now);
    --outstanding_;
  }

  SimulationConfig config_;
  const RequestLoad& load_;
  std::unique_ptr<Router> router_;
  std::vector<Replica> replicas_;
  std::priority_queue<End> ends_;
  std::uint64_t sequence_ = 0;
  std::int64_t outstanding_ = 0;
  std::deque<SimTime> released_;  // when requests ended in whose place none was sent yet
  SimTime admitted_;              // when the front end was done with the last request
  SimulationResult result_;
};

}  // namespace

ReplicaCounts SimulationResult::total() const {
  ReplicaCounts sum;
  for (const ReplicaCounts& r : replicas) {
    sum.steps += r.steps;
    sum.decode_steps += r.decode_steps;
    sum.prompt_tokens += r.prompt_tokens;
    sum.output_tokens += r.output_tokens;
    sum.evictions += r.evictions;
    sum.stalls += r.stalls;
    sum.cached_tokens += r.cached_tokens;
    sum.busy += r.busy;
    sum.used_block_seconds += r.used_block_seconds;
  }
  return sum;
}

SimulationResult simulate(const SimulationConfig& config, const RequestLoad& load,
                          StepTimer& timer) {
  return Simulation(config, load, timer).run();
}

}  // namespace orrery
