// What a scenario would run, and whether it fits, without answering it.
#pragma once

#include <string>
#include <vector>

#include "orrery/scenario/runner/runner.h"

namespace orrery {

struct ScenarioCheck {
  std::string what;  // "12 points, steady state: tp 2, isl 2, batch 3 values"
  double points = 0, misfits = 0;
  std::vector<std::string> reasons;  // of layouts that do not fit, each once
  std::vector<std::string> notes;    // assumptions and defaults taken
  std::vector<std::string> advice;   // what would help, or would make the answer better
};

// Memory and layouts are checked at every point (a service's at its layouts), nothing is timed.
// What Runner::run refuses before it computes is refused here too.
ScenarioCheck check_scenario(const Scenario& scenario, Runner& runner);

}  // namespace orrery
