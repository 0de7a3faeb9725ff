// The plan with the least regret if the load is not what was asked.
//
// plan.robust says how far the rate and the lengths of requests may be from the question's. Every
// combination of less, as asked and more is a case, in which all options are searched again. The
// candidates are the plans that are shown and the best plan of each case, each free to have as many
// engines as a case needs: that is what can be changed later, GPU, engine, format and layout are
// not. The regret of a candidate in a case is how much its best fleet is ranked below the best one
// there (RacedFleet::ranked); the robust plan has the smallest largest regret (minimax).
#pragma once

#include <string>
#include <vector>

#include "orrery/planner/verify/race.h"

namespace orrery {

struct RobustPlan {
  FleetPlan fleet;         // its largest over the cases
  double regret = 0;       // its largest, as a share of what the best plan is ranked by
  std::string worst;       // the case of that regret
  std::size_t missed = 0;  // cases whose limits it cannot keep
  std::string text() const;
};

// The candidates, the least largest regret first; those that miss a case come last. REQUIRES a
// PlanQuestion with plan.robust and an objective other than throughput, and aggregated plans.
// InputError: a text of plan.robust that is not known, or lengths that cannot be scaled.
std::vector<RobustPlan> robust_plans(Runner& runner, const Scenario& question,
                                     const std::vector<RacedFleet>& shown, SearchContext& context);

}  // namespace orrery
