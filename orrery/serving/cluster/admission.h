// What a request passes before it is in an engine's queue: the client that may send it, the front
// end that is busy with those before it, and whether it can ever run.
#pragma once

#include <deque>
#include <queue>
#include <utility>
#include <vector>

#include "orrery/serving/cluster/simulation_config.h"

namespace orrery {

// Whether the KV cache of a request fits into that of an engine. The last token is never cached;
// an engine that prefills caches the prompt alone.
bool fits(const ReplicaConfig& engine, const Request& request);

class Admission {
 public:
  // Borrows both. The first `requests` of the load come in, in order; those that follow others,
  // when these have ended.
  Admission(const SimulationConfig& config, const RequestLoad& load, std::size_t requests);

  bool empty() const { return left_ == 0; }
  // The place in the load of the one that comes next. REQUIRES time() != kNever.
  std::size_t next() const;
  // When it is in a queue; kNever if there is none or it must wait for another to end.
  SimTime time() const;
  // It comes in, and its record begins. False: it can never run and is turned away.
  bool enter(RequestRecord& record);
  // One that has ended lets another be sent: the next turn of its conversation or, after the last,
  // one that waits for max_concurrency.
  void end(std::size_t request, SimTime now);

 private:
  // When the client of the first that follows none sends it.
  SimTime first_sent() const;
  // Whether a next turn is sent before that.
  bool turn_first() const;
  SimTime sent() const;
  void pass_followers();
  // When the front end is done with it.
  SimTime admitted(SimTime sent) const;
  Outcome turned_away(const Request& request) const;

  const SimulationConfig& config_;
  const RequestLoad& load_;
  bool disaggregated_ = false;       // prefill and decode
  std::size_t requests_, next_ = 0;  // next_: of those that follow none
  std::size_t left_;
  std::int64_t started_ = 0;      // that follow none
  std::deque<SimTime> released_;  // when conversations ended in whose place none was begun yet
  using Turn = std::pair<SimTime, std::size_t>;  // when it is sent, and which
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns_;
  SimTime admitted_;  // when the front end was done with the last request
  SimTime entered_;   // when the last one was queued
};

}  // namespace orrery
