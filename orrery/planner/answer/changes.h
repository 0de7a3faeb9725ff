// The changes of a question that would change its plan: of its limits, GPUs and money one by one,
// to other GPUs, to usual layouts.
//
// Every change is a question of its own that is searched as the plan was (verify/race.h), so that
// what is said of it is as exact as the plan. What was simulated before is not simulated again:
// limits, money and GPUs do not change what a fleet does under the load.
//
//   limit    tighter: the largest limit below which another plan is the best, and that plan; this
//            is a figure of the plan at one of the levels at which it keeps the limit. Looser: the
//            smallest limit at which a better plan exists (times 2 at most), which may be the same
//            plan with a higher chance. Both are flip points. With objective throughput the rates
//            at 10 % less and more.
//   gpus     1, 2, 4 and 8 more GPUs than plan.gpus, as far as they are a limit; a stock without
//            end
//   budget   10 % more
//   memory   a tenth more on each board of the plan's type of GPU: what each GB brings. Searched
//            among engines on this type alone, with simulations of its own
//   gpu      each other type of GPU alone; with objective cost the price at which it is as good:
//            what the plan is ranked by (RacedFleet::ranked) divided by the same of its GPUs
//   usual    the smallest engine that holds the model, and one over a node, of the plan's GPU, with
//            as many GPUs and as much money as they need
//
// Figures are those of the race: the plan that is shown has been proved, and may have got further
// engines for it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orrery/planner/verify/race.h"

namespace orrery {

struct Change {
  std::string what;                // "tpot below 37 ms"
  std::optional<RacedFleet> best;  // none: nothing keeps the limits then
  // Share by which the best plan is ranked better then (RacedFleet::ranked); less than 0: worse.
  // None: it depends on a price.
  std::optional<double> gain;
  std::string price;         // what a unit of the change brings, or a price; may be empty
  std::string text() const;  // a sentence without its full stop
};

// REQUIRES a PlanQuestion whose race has ended with `best`.
std::vector<Change> find_changes(const Scenario& question, const PlannedLoad& load,
                                 const FirstStage& first, const RacedFleet& best, Trials& trials,
                                 Runner& runner);

}  // namespace orrery
