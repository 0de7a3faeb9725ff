// Failures of the engines of a service, the group `failures` of a scenario.
#pragma once

#include <vector>

#include "orrery/base/units.h"

namespace orrery {

// The time until an engine fails is exponentially distributed, and it is up again `restart` after
// it failed. Its requests start again from their prompts, on other engines if there are any, and
// the tokens made so far are lost.
struct Failures {
  Seconds mean_time;  // mean time from coming up to failing; 0: never
  Seconds restart = Seconds(120);
  // Further failures at given times, in seconds: of the first engine that is up, then of the
  // second, ...
  std::vector<double> at;

  bool any() const { return mean_time > Seconds(0) || !at.empty(); }
};

}  // namespace orrery
