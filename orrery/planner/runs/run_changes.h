// The changes of a question that would change the plan of its run, by the plans of the search: the
// best of each type and number of GPUs that keeps plan.by and plan.budget.
//
//   sooner   with objective cost: the cheapest of them that ends earlier, and what a day less
//            costs; it is the plan if plan.by is below the end of the best one
//   price    with objective cost: of each other type of GPU the price of a GPU-hour at which its
//            cheapest plan costs as much as the best one
//
// Types and numbers of GPUs that the search left out by a bound (run_bound.h) have no plan here.
#pragma once

#include <string>
#include <vector>

#include "orrery/planner/question/plan_question.h"
#include "orrery/planner/runs/run_search.h"

namespace orrery {

// Sentences without their full stop. `best`: the plan of the answer.
std::vector<std::string> run_changes(PlanObjective objective, const RunSearch& search,
                                     const RatedRun& best);

}  // namespace orrery
