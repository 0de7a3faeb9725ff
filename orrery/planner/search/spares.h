// How many engines a pool needs beyond those that its load needs.
//
// They are PlanChoice::spare, or more where the limits are to hold for a share A of the time
// (PlanChoice::availability). An engine of g GPUs stops working f g times a day, works again after
// R (PlanChoice::repair), and is down for the share u = f g R / (1 + f g R) of the time. With
// engines that fail independently, the fewest spare ones k of n + k are those with
//
//   sum over i <= k of  C(n + k, i) u^i (1 - u)^(n + k - i)  >=  A
//
// f is the rate of unexpected interruptions of Llama 3's training (arXiv:2407.21783, table 5),
// whatever of the GPU, its node or its software they came from. Failures of a whole node or a
// network at once are not independent, and not covered.
#pragma once

#include <cstdint>

#include "orrery/planner/question/plan_question.h"
#include "orrery/planner/space/fleet_plan.h"

namespace orrery {

// The share of the time in which at least n of n + k engines work, each down for the share u.
double share_of_time(std::int64_t n, std::int64_t k, double u);
// The share of the time in which an engine of `gpus` GPUs is down.
double down_share(std::int64_t gpus, Seconds repair);

std::int64_t spares(const PlanChoice& plan, const EngineOption& engine, std::int64_t engines);

}  // namespace orrery
