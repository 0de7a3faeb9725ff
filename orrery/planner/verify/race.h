// The second stage of the planner: fleets race on the real load.
//
// Options are taken in the order of what they promise. An option is left out without a simulation
// if even at its bound (engine_bound.h) its fleet is no better than the worst of the plans that are
// shown; every other option is simulated until its best fleet is known. Since a bound is never
// below what a simulation gives, the plans are those that simulating everything would give
// (PlanChoice::exhaustive, tests/unit/planner/race_law_test.cc). It is taken that more engines keep
// the limits where fewer do, and that a lower rate keeps them where a higher one does.
//
//   cost, gpus   the fewest engines of each option that keep the limits at the rate of the load
//   energy       the same, judged by the simulated energy of a request; nothing bounds it before
//   throughput   as many engines as the GPUs or the budget allow, and the highest rate, to 1 %
//
// Disaggregated fleets are pairs of options of one GPU, engine and format. Their bounds are the
// prefill of one and the decode of the other; all pairs of numbers of engines below the threshold
// are tried in the order of their value, without those that have no more engines of either kind
// than a fleet that missed the limits. For throughput every number of engines for prefill is tried
// with all the engines for decode that are left.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "orrery/planner/search/first_stage.h"
#include "orrery/planner/verify/fleet_judge.h"
#include "orrery/planner/verify/trials.h"

namespace orrery {

// A fleet that keeps the limits in the race.
struct Raced {
  FleetPlan fleet;   // with its spare engines
  double value = 0;  // USD an hour, GPUs, J a request, or requests/s
  double rate = 0;   // requests/s that it serves
};

struct RaceResult {
  std::vector<Raced> best;                   // best first, at most PlanChoice::top
  std::int64_t fleets = 0;                   // options and pairs of options
  std::int64_t looked_at = 0;                // fewer where the search was stopped
  std::map<std::string, std::int64_t> left;  // those that are not shown, by the reason
};

// REQUIRES a PlanQuestion. InputError: throughput without a limit of GPUs or money.
RaceResult race(const Scenario& question, const PlannedLoad& load, const FirstStage& first,
                FleetJudge& judge);
// The same by simulations, which the ranks of the trials' desk share.
RaceResult race(const Scenario& question, const PlannedLoad& load, const FirstStage& first,
                Trials& trials);

}  // namespace orrery
