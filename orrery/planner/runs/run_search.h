// The search for the best layouts of a run: all of the space is enumerated, and what is not
// evaluated is left out by a rule, by memory or by a bound, each counted.
//
// 1. Sizes that do not divide, and layouts that the stack or the model cannot have.
// 2. Memory. With a fixed layout it grows with the micro-batch (see below), so that the largest one
//    that fits is found by bisection.
// 3. A number of GPUs on which even the arithmetic peak takes longer than what is kept already
//    (run_bound.h).
// 4. The closed form of the iteration and of the run (TrainingEvaluator), at the boards' own limit
//    and clock, and where a slower board can win at those of the plan, too. Of a layout the best
//    setting is kept. A slower board ends no run sooner, so that it can win by energy alone, or by
//    money where GPUs pay for their electricity.
//
// Memory grows with the micro-batch b while the global batch is fixed: what a micro-batch leaves is
// proportional to b, and of the m micro-batches min(m, n) are in flight, where m b is constant and
// n depends on the pipeline alone. The exception is a stack that frees its gradients if there is
// only one micro-batch; its micro-batches are tried one by one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "orrery/planner/runs/rated_run.h"
#include "orrery/planner/workers/search_context.h"
#include "orrery/scenario/runner/runner.h"

namespace orrery {

struct RunSearch {
  // The best of each type and number of GPUs that keep plan.by and plan.budget, the best first, at
  // most `top` of each.
  std::vector<std::vector<RatedRun>> best;
  // The extremes of all that fit in memory, whether or not they keep the limits.
  std::optional<RatedRun> fastest, cheapest;
  bool electricity = false;    // whether some GPUs pay for what they draw
  std::int64_t layouts = 0;    // of the space
  std::int64_t evaluated = 0;  // in closed form, each at all settings of its boards
  struct Reason {
    std::int64_t layouts = 0;
    std::string example;  // the message of one of them; empty: the reason says all
  };
  std::map<std::string, Reason> rejected;
  // The one that misses the memory of its GPU by the least, and the share of it that it needs.
  std::optional<RunPlan> nearest;
  double nearest_share = 0;
  TrainingMemory nearest_memory;

  void reject(const std::string& reason, std::int64_t layouts = 1);
};

// REQUIRES a PlanQuestion with a run that has a length and a global batch. Where no layout keeps
// the limits, all of them are evaluated, so that the closest one is known.
RunSearch search_runs(Runner& runner, const Scenario& question, SearchContext& context);

}  // namespace orrery
