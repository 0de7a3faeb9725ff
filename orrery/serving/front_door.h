// What a request passes before it is in an engine's queue: the client that may send it, the front
// end that is busy with those before it, and whether it can ever run.
#pragma once

#include <deque>

#include "orrery/serving/simulation.h"

namespace orrery {

// Whether the KV cache of a request fits into that of an engine. The last token is never cached;
// an engine that prefills caches the prompt alone.
bool fits(const ReplicaConfig& engine, const Request& request);

class FrontDoor {
 public:
  // Borrows both. The first `requests` of the load come in, in order.
  FrontDoor(const SimulationConfig& config, const RequestLoad& load, std::size_t requests);

  bool empty() const { return next_ == requests_; }
  // The place in the load of the one that comes next. REQUIRES !empty().
  std::size_t next() const { return next_; }
  // When it is in a queue; kNever if there is none or it must wait for another to end.
  SimTime time() const;
  // It comes in, and its record begins. False: it can never run and is turned away.
  bool enter(RequestRecord& record);
  // One that has ended lets another be sent.
  void release(SimTime now);

 private:
  // When its client sends it.
  SimTime sent() const;
  // When the front end is done with it.
  SimTime admitted(SimTime sent) const;
  Outcome turned_away(const Request& request) const;

  const SimulationConfig& config_;
  const RequestLoad& load_;
  bool apart_ = false;  // prefill and decode
  std::size_t requests_, next_ = 0;
  std::deque<SimTime> released_;  // when requests ended in whose place none was sent yet
  SimTime admitted_;              // when the front end was done with the last request
  SimTime entered_;               // when the last one was queued
};

}  // namespace orrery
