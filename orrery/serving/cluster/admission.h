// Admission: what a request passes before it is in an engine's queue. The client waits until it may
// send it (closed loop, conversations), the front end works on the requests before it, and requests
// that can never run are rejected.
#pragma once

#include <deque>
#include <queue>
#include <utility>
#include <vector>

#include "orrery/serving/cluster/simulation_config.h"

namespace orrery {

class Admission {
 public:
  // Borrows both. The first `requests` requests of the load are admitted in order. Requests that
  // follow others are admitted after these have ended.
  Admission(const SimulationConfig& config, const RequestLoad& load, std::size_t requests);

  bool empty() const { return left_ == 0; }
  // Index of the request that is admitted next. REQUIRES time() != kNever.
  std::size_t next() const;
  // Time at which that request is in a queue; kNever if there is none, or if it waits for another
  // request to end.
  SimTime time() const { return time_; }
  // Admits the next request and starts its record. False if it can never run and is rejected.
  bool enter(RequestRecord& record);
  // The last token of a request is delivered at `now`. Its client sends the next turn of the
  // conversation; after the last turn, a request that waits for max_concurrency is sent.
  void end(std::size_t request, SimTime now);

 private:
  // Time at which the next request that follows no other is sent.
  SimTime first_sent() const;
  // Whether the next turn of a conversation is sent before that.
  bool turn_first() const;
  SimTime sent() const;
  void pass_followers();
  // Time at which the front end has finished a request that was sent at `sent`.
  SimTime admitted(SimTime sent) const;
  Outcome turned_away(const Request& request) const;
  // Updates time().
  void look();

  const SimulationConfig& config_;
  const RequestLoad& load_;
  std::vector<std::pair<Role, KvRoom>> rooms_;  // of the pools
  // The front end works on one request after the other, for per_request_ each. The rest overlaps
  // between requests: once overhead_, and per_prompt_token_ for each token. Requests do not
  // overtake each other.
  SimTime per_request_, overhead_, per_prompt_token_;
  bool disaggregated_ = false;       // prefill and decode
  std::size_t requests_, next_ = 0;  // next_: index among requests that follow no other
  std::size_t left_;
  std::int64_t started_ = 0;      // number of sent requests that follow no other
  std::deque<SimTime> released_;  // ends of conversations in whose place no other has started
  using Turn = std::pair<SimTime, std::size_t>;  // time at which it is sent, and index
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns_;
  SimTime time_ = kNever;
  SimTime admitted_;  // when the front end finished the last request
  SimTime entered_;   // when the last one was queued
};

}  // namespace orrery
