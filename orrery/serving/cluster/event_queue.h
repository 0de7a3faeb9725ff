// The events of a simulation, in the order in which they happen.
#pragma once

#include <cstdint>
#include <queue>

#include "orrery/serving/requests/sim_time.h"

namespace orrery {

// Kinds of events, in the order of events at the same time.
enum class EventKind : std::uint8_t {
  kStarted,      // an engine that autoscaling asked for takes requests
  kFailed,       // an engine fails
  kRestarted,    // a failed engine takes requests again
  kScale,        // the autoscaler is asked
  kLook,         // routers look at the loads of engines
  kTransferred,  // the KV cache of a request has moved
  kBeam,         // a request of a round of beam search is sent
  kStepEnd       // the oldest step of an engine ends
};

struct Event {
  SimTime time;
  EventKind kind;
  // An engine and its life (Fleet::life), or a request.
  std::uint32_t id, life;
  std::uint64_t sequence;  // rises with each event that is pushed

  bool operator<(const Event& o) const {  // the earliest is on top of a priority queue
    if (time != o.time) return time > o.time;
    return kind != o.kind ? kind > o.kind : sequence > o.sequence;
  }
};

class EventQueue {
 public:
  bool empty() const { return events_.empty(); }
  const Event& top() const { return events_.top(); }
  void push(SimTime time, EventKind kind, std::size_t id, std::uint32_t life) {
    events_.push({time, kind, static_cast<std::uint32_t>(id), life, sequence_++});
    moving_ += moves(kind);
  }
  // Removes and returns the earliest event. REQUIRES !empty().
  Event pop() {
    const Event event = events_.top();
    events_.pop();
    moving_ -= moves(event.kind);
    return event;
  }
  // Whether there is an event after which requests go on. Failures, and looks at the fleet, do not
  // count: by themselves they could be repeated for ever.
  bool moving() const { return moving_ > 0; }

 private:
  static bool moves(EventKind kind) {
    return kind != EventKind::kFailed && kind != EventKind::kScale && kind != EventKind::kLook;
  }

  std::priority_queue<Event> events_;
  std::uint64_t sequence_ = 0;
  std::int64_t moving_ = 0;
};

}  // namespace orrery
