// Plans of a training run: on which GPUs, how many of them, in which layout.
#pragma once

#include <vector>

#include "orrery/planner/runs/run_plan.h"
#include "orrery/planner/workers/search_context.h"
#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/runner/runner.h"

namespace orrery {

// The plans, the best first: the point and the layout of each.
struct RunPlans {
  Answer answer;
  std::vector<RunPlan> plans;
  Scenario question;                                           // with the defaults that were taken
  std::vector<std::pair<std::string, std::int64_t>> rejected;  // layouts, by the reason
};

// A point for each plan: what `orrery train` answers for it, and `in_time`, the chance that the run
// ends in plan.by. With objective pareto the plans are all those that no other one beats in time,
// money and GPUs. The notes of the first say what binds, what other numbers of GPUs would give, and
// why layouts were left out.
//
// InputError: no length of the run, no global batch, no price that a limit or the objective needs.
// Infeasible: no layout fits, or none keeps plan.by and plan.budget; the message has the closest
// one and what is missing.
// The context is used as in find_plans() (planner.h).
RunPlans find_run_plans(Runner& runner, const Scenario& question, SearchContext& context);
RunPlans find_run_plans(Runner& runner, const Scenario& question);

}  // namespace orrery
