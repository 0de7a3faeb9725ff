// The second stage of the planner: fleets race on the real load.
//
// Fleets are ranked by their expected score (scenario/answer/prospect.h says why). The score is the
// rate for throughput, and the reciprocal of the money, the GPUs or the energy for the other
// objectives. The levels at which a fleet keeps the limits are those of the error of its step
// times, all with the same requests. A fleet that misses the limits at PlanChoice::confidence,
// which is the median or above it, is no plan.
//
//   cost, gpus   the number of engines of each option that has the least value / P(limits hold) at
//                the rate of the load: the fewest that keep the limits, or more of them
//   energy       the same, by the simulated energy of a request; nothing bounds it before
//   throughput   as many engines as the GPUs or the budget allow, and the highest rate that they
//                serve at PlanChoice::confidence, to 1 %. They can be let in fewer requests, so
//                that their expected score counts the highest rates at 8 and at 10 levels, too
//
// Options are taken in the order of what they promise. An option is left out without a simulation
// if even at its bound (engine_bound.h), and with P = 1, its fleet is no better than the worst of
// the plans that are shown; every other option is simulated until its best fleet is known. Since a
// bound is never below what a simulation gives, the plans are those that simulating everything
// would give (PlanChoice::exhaustive, tests/unit/planner/race_law_test.cc). It is taken that more
// engines keep the limits where fewer do, that a lower rate keeps them where a higher one does, and
// that faster steps keep them where slower ones do.
//
// Disaggregated fleets are pairs of options of one GPU, engine and format. Their bounds are the
// prefill of one and the decode of the other; all pairs of numbers of engines below the threshold
// are tried in the order of their value, without those that have no more engines of either kind
// than a fleet that missed the limits. For throughput every number of engines for prefill is tried
// with all the engines for decode that are left.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "orrery/planner/search/first_stage.h"
#include "orrery/planner/verify/fleet_judge.h"
#include "orrery/planner/verify/trials.h"
#include "orrery/scenario/answer/prospect.h"

namespace orrery {

// A fleet that keeps the limits in the race.
struct RacedFleet {
  FleetPlan fleet;    // with its spare engines
  double value = 0;   // USD an hour, GPUs, J a request, or requests/s
  double rate = 0;    // requests/s that it serves
  double ranked = 0;  // value / P(limits hold), or the negative expected rate; less is better
  int levels = 0;     // at which it keeps the limits
  // The slowest of them, as Trials::figure takes it.
  int slowest = 0;
  double chance() const { return static_cast<double>(levels) / kLevels; }
};

// Reasons of RaceResult::left.
inline constexpr const char* kWorse = "is worse than the plans shown";
inline constexpr const char* kMisses = "misses the limits";

struct RaceResult {
  std::vector<RacedFleet> best;              // best first, at most PlanChoice::top
  std::int64_t fleets = 0;                   // options and pairs of options
  std::int64_t looked_at = 0;                // fewer where the search was stopped
  std::map<std::string, std::int64_t> left;  // those that are not shown, by the reason
  std::optional<RacedFleet> best_of_part;    // of a race in rounds: the best of the first one
};

// REQUIRES a PlanQuestion. InputError: throughput without a limit of GPUs or money.
RaceResult race(const Scenario& question, const PlannedLoad& load, const FirstStage& first,
                FleetJudge& judge);
// The same by simulations, which the ranks of the trials' context share.
RaceResult race(const Scenario& question, const PlannedLoad& load, const FirstStage& first,
                Trials& trials);

}  // namespace orrery
