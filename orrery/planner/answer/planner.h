// The planner: the deployment that serves a load best within its limits.
//
//   store    results of earlier searches
//   workers  other ranks that compute some of the results, and the context of a search
//   space    engines that could be chosen
//   bound    what one of them can do at most, in closed form
//   search   the first stage: all of them, with their bounds
//   verify   the second stage: fleets race in simulations of the real load; the plans are proved
//            with other requests
//   answer   the plans as an Answer
//   emit     files to deploy a plan
//
// The plans are those that simulating every option would give: an option is left out by a bound
// only (verify/race.h says what is taken for granted).
//
// Plans are ranked by their expected score, P(all limits hold) x score (scenario/answer/prospect.h
// says why), and a plan whose median misses a limit is never recommended.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "orrery/planner/answer/changes.h"
#include "orrery/planner/space/fleet_plan.h"
#include "orrery/planner/workers/search_context.h"
#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/runner/runner.h"

namespace orrery {

// The plans, the best first: the point, the fleet and the rate of each. A plan that divides GPUs
// (divided_planner.h) is all of them together.
struct Plans {
  Answer answer;
  std::vector<FleetPlan> fleets;
  std::vector<double> rates;  // requests/s
  // The question that each fleet answers: its model, load and limits.
  std::vector<Scenario> questions;
  bool side_by_side = false;  // the fleets run at once; otherwise one of them is chosen
  // Engines and fleets that were left out, by the reason; empty for a plan that divides GPUs.
  std::map<std::string, std::int64_t> rejected;
  std::vector<Change> changes;  // what would change the best plan; empty without plan.explain
};

// A point for each plan, the best first, of a front (front.h) the loosest limit first: that of the
// simulated service, and `chance` and `headroom` (verify/proof.h). The notes of the first say what
// was considered, and why the rest was left out.
//
// InputError: no limit in `slo`, a load without a rate, or a price that is not known. Infeasible:
// no engine can serve, or no fleet keeps the limits; the message counts the reasons and names the
// plan that comes closest (closest.h).
//
// Where the context's watcher stops the search, the plans are the best so far, and the answer is
// marked as not complete. Stopped: there is none yet. SearchOver: this is not the rank that
// answers.
Plans find_plans(Runner& runner, const Scenario& question, SearchContext& context);
Plans find_plans(Runner& runner, const Scenario& question);

}  // namespace orrery
