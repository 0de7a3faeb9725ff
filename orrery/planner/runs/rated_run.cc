#include "orrery/planner/runs/rated_run.h"

#include "orrery/planner/question/plan_question.h"
#include "orrery/scenario/answer/prospect.h"

namespace orrery {

bool slower_boards_win(PlanObjective objective, bool electricity) {
  return objective == PlanObjective::kEnergy || (electricity && objective == PlanObjective::kCost);
}

double RatedRun::value(PlanObjective objective) const {
  switch (objective) {
    case PlanObjective::kCost:
      return run.usd;
    case PlanObjective::kGpus:
      return static_cast<double>(plan.layout.gpus);
    case PlanObjective::kEnergy:
      return run.joules;
    default:
      return run.total.value();
  }
}

double RatedRun::ranked(PlanObjective objective) const {
  return objective == PlanObjective::kPareto ? value(objective)
                                             : per_chance(value(objective), fits);
}

bool better(PlanObjective objective, const RatedRun& a, const RatedRun& b) {
  const double x = a.ranked(objective), y = b.ranked(objective);
  return x != y ? x < y : lower(objective, a, b);
}

bool lower(PlanObjective objective, const RatedRun& a, const RatedRun& b) {
  const double x = a.value(objective), y = b.value(objective);
  if (x != y) return x < y;
  if (a.run.total != b.run.total) return a.run.total < b.run.total;
  if (a.plan.layout.gpus != b.plan.layout.gpus) return a.plan.layout.gpus < b.plan.layout.gpus;
  return a.plan.name() < b.plan.name();
}

}  // namespace orrery
