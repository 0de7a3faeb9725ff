// Finds that a flow simulation repeats itself, and passes over whole periods at once.
//
// A ring in its stride does the same again and again. Whenever the reference (the running task with
// most messages to go) has sent a message, the state is compared with an earlier one, which is
// replaced at messages 1, 2, 4, 8, ... after it (Brent's cycle search). States are the same when
// every running task has sent as many messages since as the reference or none, and what is left of
// the messages under way and what is still to arrive agree to one part in 1e9.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "orrery/flow/simulation/flow_tasks.h"
#include "orrery/flow/simulation/timed_heap.h"

namespace orrery {

class FlowPeriod {
 public:
  explicit FlowPeriod(FlowTasks& work) : work_(work) {}

  // What happens to tasks.
  void started(std::int32_t task);
  void sent(std::int32_t task) { moved_ = moved_ || task == reference_; }
  void ended(std::int32_t task);

  // At the end of an instant, when rates are settled: the time that may be passed over, 0 if none;
  // the tasks have then done what they do in it. `arrivals`: messages under way, by task; `next`:
  // when anything else happens (infinity: never). Whatever else is timed must be moved on by it.
  double skip(double now, const DelayLanes& arrivals, double next);

  std::int64_t repeated() const { return repeated_; }  // messages passed over

 private:
  struct State {
    double time = -1;
    std::vector<std::int32_t> running;
    std::vector<int> sent, ahead;  // by each running task: in all; relative to the reference
    std::vector<double> left;      // share of the message under way; -1: none
    std::vector<std::pair<std::int32_t, double>> in_flight;
  };

  void forget();
  void choose_reference();
  void take(State& s, double now, const DelayLanes& arrivals) const;
  static bool same(const State& a, const State& b);
  double repeat(double now, double next);
  std::int64_t most_periods(int period) const;

  static constexpr std::int32_t kNothingToWatch = -1, kNotChosen = -2;

  FlowTasks& work_;
  std::int32_t reference_ = kNothingToWatch;
  bool moved_ = false;  // the reference has sent a message in this instant
  State saved_, current_;
  int until_saved_ = 0, power_ = 1;
  std::int64_t repeated_ = 0;
};

}  // namespace orrery
