// Plans of training runs with what the closed form says of them, and their order.
#pragma once

#include "orrery/planner/question/plan_question.h"
#include "orrery/planner/runs/run_plan.h"
#include "orrery/scenario/kinds/training/training_evaluator.h"

namespace orrery {

// A plan and what the closed form says of it.
struct RatedRun {
  RunPlan plan;
  TrainingEvaluator::Run run;
  double fits = 1;  // chance that it fits in memory

  // The quantity that the objective has least of; the time where it is kPareto.
  double value(PlanObjective objective) const;
  // The figure by which it is ranked: the value over the chance that it fits, which is the
  // reciprocal of its expected score (scenario/answer/prospect.h); of kPareto the value.
  double ranked(PlanObjective objective) const;
};
// Whether `a` has a smaller value than `b`, then less time, fewer GPUs, and at last the smaller
// name. The order therefore does not depend on the order of the space.
bool lower(PlanObjective objective, const RatedRun& a, const RatedRun& b);
// Whether `a` is better than `b`: it is ranked by less, or by the same and is lower().
bool better(PlanObjective objective, const RatedRun& a, const RatedRun& b);

// Whether a slower board can win. `electricity`: whether the GPUs pay for what they draw.
bool slower_boards_win(PlanObjective objective, bool electricity);

}  // namespace orrery
