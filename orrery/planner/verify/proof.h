// The proof of a plan: simulations with requests that the race has not seen.
//
// The winner of a race among simulations is one that was also lucky. Its fleet is therefore
// simulated again with other requests, and that is what is shown. If it misses the limits then, it
// gets further engines, or serves a lower rate, until it keeps them.
//
// `chance` is the probability that the limits hold: steps may be faster or slower than predicted,
// and other requests come. It is the share of kLevels simulations that keep the limits, each with
// other requests and all steps at another quantile of their error: 5, 15, ... 95 %.
// `headroom` is how much the rate may grow, in percent, until the limits are missed; 300 % is tried
// at most.
#pragma once

#include <cstdint>
#include <vector>

#include "orrery/planner/question/plan_question.h"
#include "orrery/planner/verify/race.h"
#include "orrery/planner/verify/trials.h"
#include "orrery/scenario/answer/prospect.h"

namespace orrery {

struct Proof {
  RacedFleet raced;     // with the engines, the rate and the value that were proved
  Point point;          // of the simulated service, with its spare engines
  bool brief = false;   // chance and headroom are not known: the search was stopped
  bool kept = false;    // false: the limits were missed with as many more engines as are tried
  double chance = 0;    // 0 to 1; that of the race where the proof is brief
  double headroom = 0;  // percent; of a load with a rate
};

// The figure by which a plan is ranked, with the chance that was proved or, for throughput, the
// rate; less is better.
double ranked_by(const Proof& proof, PlanObjective objective);

// The first seed of a proof, which no race has.
std::int64_t first_seed(const PlanQuestion& asked);
// Whether the fleet keeps the limits at a level, 0 to kLevels - 1: with requests of its own, and
// all steps at a quantile of their error.
bool keeps_at(const Scenario& question, const FleetPlan& fleet, double rate, int level,
              Trials& trials);
// How many times the rate the fleet serves within the limits; 4 at most.
double headroom_of(const FleetPlan& fleet, double rate, Trials& trials);

// All plans of a race, those that keep the limits, in its order; the ranks of the search share the
// simulations. If the watcher stops the search, those that are proved by then, or else one of
// them, briefly.
std::vector<Proof> prove_all(const Scenario& question, const std::vector<RacedFleet>& raced,
                             Trials& trials);

}  // namespace orrery
