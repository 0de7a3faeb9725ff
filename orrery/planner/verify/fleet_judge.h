// A race asks a judge whether fleets keep the limits. Trials judges by simulation (trials.h); laws
// of the race have judges by arithmetic.
#pragma once

#include "orrery/planner/space/fleet_plan.h"

namespace orrery {

class FleetJudge {
 public:
  virtual ~FleetJudge() = default;
  // Whether the fleet keeps the limits at `rate` requests/s, with steps at PlanChoice::confidence.
  virtual bool meets(const FleetPlan& fleet, double rate) = 0;
  // The same with the times of all steps at a level of their error (scenario/answer/prospect.h).
  virtual bool meets_at(const FleetPlan& fleet, double rate, int level) = 0;
  // The energy of a request at that rate, J; 0: not known.
  virtual double energy_per_request(const FleetPlan& fleet, double rate) = 0;
};

}  // namespace orrery
