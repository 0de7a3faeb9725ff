// Plans that divide GPUs: several models on one stock, and engines of several kinds for a model.
//
// A plan consists of fleets, each of engines of one kind for one model. Where a model has several,
// a router deals its requests out at random, in proportion to what each fleet serves within the
// limits. The fleets of least cost (or GPUs) are found exactly:
//
//   bound    first stage of each model: what an engine does at most (bound/engine_bound.h)
//   program  the integer program over all engines of all models (search/stock_program.h), with the
//            shares of the loads as they are known, which are never below the true ones
//   judge    simulations of the fleets that the program took (verify/share_table.h); if one of them
//            serves less, the program is solved again
//
// A solution whose fleets were all simulated is therefore the best one, and few fleets have to be.
// Each is then proved with other requests (verify/proof.h); one that misses the limits serves a
// lower share, and the program is solved again.
//
// The value of a solution is its money or GPUs: fleets are not ranked by their chances here, but
// keep the limits at PlanChoice::confidence.
//
// PlanChoice::explain divides the GPUs again with each limit 10 % tighter and looser, with more
// GPUs of each kind and with more money, and says what the fleets are then and what they save.
// Figures are those before the proof.
#pragma once

#include "orrery/planner/answer/planner.h"
#include "orrery/planner/question/plan_question.h"

namespace orrery {

// InputError: the plan asks for what plans that divide GPUs do not have.
void check_divided(const PlanChoice& plan);

// One plan: a point, a fleet and a question for each of its fleets, in the order of the models. The
// chance of a point is that of its model. Infeasible: nothing serves all models. Stopped: the
// watcher ends the search. SearchOver: this is not the rank that answers; only the bounds of
// engines are shared among ranks.
Plans find_divided_plan(Runner& runner, const Scenario& question, SearchContext& context);

}  // namespace orrery
