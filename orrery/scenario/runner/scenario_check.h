// The check of a scenario without answering it: its points, whether they fit, and advice.
#pragma once

#include <string>
#include <vector>

#include "orrery/scenario/runner/runner.h"

namespace orrery {

struct ScenarioCheck {
  std::string what;  // "12 points, steady state: tp 2, isl 2, batch 3 values"
  double points = 0, misfits = 0;
  std::vector<std::string> reasons;  // why layouts do not fit, each reason once
  std::vector<std::string> notes;    // assumptions and defaults taken
  std::vector<std::string> advice;   // changes that would help, or would make the answer better
};

// Checks memory and layout at every point without timing anything. A service is checked for the
// memory of its first pool.
// Throws what Runner::run throws before it computes.
ScenarioCheck check_scenario(const ScenarioSweep& sweep, Runner& runner);

}  // namespace orrery
