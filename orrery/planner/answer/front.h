// The front of a service: what a tighter limit of one latency costs (`plan.front`).
//
// The question is asked again and again with that limit tightened, from the user's own (or from
// none) until no fleet keeps it. The next limit is a tenth below the one before, or just below what
// the plan before it does at its slowest level where that is less, so that no limit is asked at
// which the same plan would be the best for the same reason. Every question is searched as exactly
// as a plan of its own (verify/race.h); limits do not change what a fleet does under the load, so
// that nothing is simulated twice.
//
// A plan is proved with the loosest limit at which it is the best. Plans are left out of which
// another one has no worse value (money, GPUs, energy or rate) and no worse figure of the latency.
#pragma once

#include <cstdint>
#include <vector>

#include "orrery/planner/question/plan_question.h"
#include "orrery/planner/verify/proof.h"
#include "orrery/planner/verify/slo_limits.h"

namespace orrery {

// A plan of the front, and the question with the limit for which it was proved.
struct FrontPlan {
  Scenario question;
  Proof proof;
};

struct Front {
  std::vector<FrontPlan> plans;  // the loosest limit first
  std::int64_t limits = 0;       // that were asked
  bool complete = true;          // false: the watcher stopped the search
};

// `loosest` is the race of the question itself. REQUIRES a PlanQuestion with plan.front.
Front find_front(Runner& runner, const Scenario& question, const PlannedLoad& load,
                 const RaceResult& loosest, Trials& trials);

// The limit that plan.front names. REQUIRES that it names one.
SloLimit front_limit(const PlanChoice& plan);

}  // namespace orrery
