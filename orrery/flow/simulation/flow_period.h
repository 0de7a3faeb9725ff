// Finds that a flow simulation repeats itself, and passes over whole periods at once.
//
// A ring in steady operation does the same again and again. Whenever the reference task (the
// running task with the most messages left) has sent a message, the state is compared with an
// earlier one, which is replaced at messages 1, 2, 4, 8, ... after it (Brent's cycle search). Two
// states are equal if every running task has sent as many messages between them as the reference,
// or none, and if the rest of the messages under way and the messages still to arrive agree to one
// part in 1e9.
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

  // Events of tasks.
  void started(std::int32_t task);
  void sent(std::int32_t task) { moved_ = moved_ || task == reference_; }
  void ended(std::int32_t task);

  // Call at the end of an instant, when the rates are settled. Returns the time (s) that may be
  // passed over, 0 if none, and advances the tasks by what they do in it; the caller must advance
  // everything else that is timed. `arrivals`: messages under way, by task. `next`: when anything
  // else happens (infinity: never).
  double skip(double now, const DelayLanes& arrivals, double next);

  std::int64_t repeated() const { return repeated_; }  // messages passed over

 private:
  struct State {
    double time = -1;
    std::vector<std::int32_t> running;
    std::vector<int> sent, ahead;  // messages of each running task; the same less the reference's
    std::vector<double> left;      // share of each one's message under way; -1: none
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
