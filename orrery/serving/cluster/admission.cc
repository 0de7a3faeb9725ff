#include "orrery/serving/cluster/admission.h"

#include <algorithm>

namespace orrery {

Admission::Admission(const SimulationConfig& config, const RequestLoad& load, std::size_t requests)
    : config_(config), load_(load), requests_(requests), left_(requests) {
  const auto& execution = config.replica.engine.execution;
  per_request_ = sim_time(execution.frontend_per_request);
  overhead_ = sim_time(execution.request_overhead);
  per_prompt_token_ = sim_time(execution.overhead_per_prompt_token);
  disaggregated_ = disaggregated(config);
  for (std::size_t i = 0; i < config.pools(); ++i) {
    const ReplicaConfig& engine = config.pool(i).replica;
    rooms_.emplace_back(engine.role, KvRoom(engine));
  }
  pass_followers();
  look();
}

void Admission::pass_followers() {
  while (next_ < requests_ && load_.waits(next_)) ++next_;
}

SimTime Admission::first_sent() const {
  if (next_ == requests_) return kNever;
  const SimTime arrival = load_.requests[next_].arrival;
  if (config_.max_concurrency == 0 || started_ < config_.max_concurrency) return arrival;
  return released_.empty() ? kNever : std::max(arrival, released_.front());
}

bool Admission::turn_first() const { return !turns_.empty() && turns_.top().first <= first_sent(); }

std::size_t Admission::next() const { return turn_first() ? turns_.top().second : next_; }

SimTime Admission::sent() const { return turn_first() ? turns_.top().first : first_sent(); }

SimTime Admission::admitted(SimTime sent) const { return std::max(sent, admitted_) + per_request_; }

void Admission::look() {
  time_ = kNever;
  if (empty()) return;
  const SimTime at = sent();
  if (at == kNever) return;
  const SimTime overhead = overhead_ + per_prompt_token_ * load_.requests[next()].input;
  time_ = std::max(entered_, admitted(at) + overhead);
}

Outcome Admission::turned_away(const Request& r) const {
  const std::int64_t longest = config_.replica.kv.max_model_len;
  if (longest > 0 && std::int64_t{r.input} + r.output > longest) return Outcome::kTooLong;
  const auto in = [&](Role role) {
    return std::any_of(rooms_.begin(), rooms_.end(), [&](const auto& room) {
      return room.first == role && room.second.takes(r);
    });
  };
  const bool runs = disaggregated_ ? in(Role::kPrefill) && (r.output == 1 || in(Role::kDecode))
                                   : in(Role::kServe);
  return runs ? Outcome::kUnfinished : Outcome::kNeverFits;
}

bool Admission::enter(RequestRecord& record) {
  const std::size_t request = next();
  const Request& r = load_.requests[request];
  const SimTime now = time();
  record.arrival = sent();
  admitted_ = admitted(record.arrival);
  entered_ = now;
  --left_;
  if (turn_first()) {
    turns_.pop();
  } else {
    if (config_.max_concurrency > 0 && started_ >= config_.max_concurrency) released_.pop_front();
    ++started_;
    ++next_;
    pass_followers();
  }
  record.queued = now;
  record.input = r.input;
  record.output = r.output;
  record.priority = r.priority;
  record.outcome = turned_away(r);
  look();
  if (record.outcome == Outcome::kUnfinished) return true;
  end(request, now);
  return false;
}

void Admission::end(std::size_t request, SimTime now) {
  if (!load_.follow_ups.empty() && load_.follow_ups[request].next != FollowUp::kNone) {
    const FollowUp& f = load_.follow_ups[request];
    turns_.emplace(now + f.delay, f.next);
  } else if (config_.max_concurrency > 0) {
    // Engines deliver the ends of requests each at its own pace.
    released_.insert(std::upper_bound(released_.begin(), released_.end(), now), now);
  } else {
    return;
  }
  look();
}

}  // namespace orrery
