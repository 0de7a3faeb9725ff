// The highest rate that simulations of one engine find within the limits of a question.
#pragma once

#include "orrery/planner/space/fleet_plan.h"
#include "orrery/scenario/kinds/service/service_question.h"
#include "orrery/scenario/runner/runner.h"

namespace orrery {

// Requests a second. REQUIRES a PlanQuestion.
inline double simulated_rate(Runner& runner, const Scenario& question, const EngineOption& option,
                             std::int64_t requests) {
  Scenario sought = FleetPlan{option, 1, std::nullopt, 0}.service(question);
  auto& service = sought.ask<ServiceQuestion>();
  service.find_max_rate = true;
  service.requests = requests;
  RunOptions options;
  options.intervals = false;
  return runner.run(sought, options).points.at(0).find("max_rate")->value;
}

}  // namespace orrery
