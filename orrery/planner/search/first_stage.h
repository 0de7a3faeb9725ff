// The first stage of the planner: every engine of the space with what it can do at most. Engines
// that cannot serve at all are counted by their reasons.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "orrery/planner/bound/engine_bound.h"
#include "orrery/planner/question/plan_question.h"
#include "orrery/planner/space/fleet_plan.h"
#include "orrery/planner/workers/search_context.h"

namespace orrery {

inline constexpr double kHoursOfMonth = 730;  // of money

struct RatedOption {
  EngineOption option;
  EngineBound bound;

  // The part of the objective's value that `engines` of it make: USD an hour, or GPUs.
  double value(PlanObjective objective, double engines) const {
    return engines *
           (objective == PlanObjective::kCost ? bound.hour : static_cast<double>(option.gpus()));
  }
};

struct FirstStage {
  std::vector<RatedOption> options;              // those that can serve
  std::int64_t considered = 0;                   // all options
  std::map<std::string, std::int64_t> rejected;  // options that cannot, by the reason
};

// REQUIRES a PlanQuestion.
FirstStage first_stage(Runner& runner, const Scenario& question, const PlannedLoad& load,
                       SearchContext& context);

// The most engines of an option that the question's stock, GPUs and budget allow beside GPUs and
// USD an hour that are taken already, without its spare ones; 0: none.
std::int64_t most_engines(const PlanChoice& plan, const RatedOption& rated, std::int64_t gpus_taken,
                          double hour_taken);

}  // namespace orrery
