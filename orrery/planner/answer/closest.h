// The plan that comes closest where none is possible, and what is missing.
//
// If GPUs, stock or money run short, it is the best plan without these limits. If the limits of the
// service cannot be kept at all, it is the fleet whose largest figure over its limit is smallest,
// each option with twice the engines that its closed form asks for at the load, as far as GPUs and
// money reach. Options are simulated in the order of the figures of a request alone; since no load
// makes a request faster, those whose request alone is further from the limits than a simulated
// fleet are left out.
#pragma once

#include <optional>
#include <string>

#include "orrery/planner/bound/planned_load.h"
#include "orrery/planner/workers/search_context.h"
#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/kinds/service/service_question.h"
#include "orrery/scenario/runner/runner.h"

namespace orrery {

// The figure of a simulated service that is largest over its limit.
struct NearestLimit {
  std::string metric;           // "tpot_p99"
  double value = 0, limit = 0;  // ms
  double ratio() const { return value / limit; }
};
std::optional<NearestLimit> nearest_limit(const ServiceLevels& slo, const Point& point);

// A sentence without its full stop: "the closest is 8 x (...): it needs 32 GPUs; plan.gpus is
// 16"; empty: nothing fits in memory. REQUIRES a PlanQuestion that no plan answers.
std::string closest_plan(Runner& runner, const Scenario& question, const PlannedLoad& load,
                         SearchContext& context);

}  // namespace orrery
