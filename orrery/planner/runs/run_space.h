// The layouts that a run could have on a number of GPUs: the product of what the plan lists, or of
// all that there is.
//
//   tp            powers of two up to the GPUs of a node
//   cp            1, 2, 4, 8
//   pp, vp        those whose product divides the layers; vp above 1 with a pipeline only
//   ep            powers of two that divide the experts of every layer that has some
//   micro batch   1, 2, 4, 8, 16
//   zero          the stack's default, and 3
//   recompute     none, selective, full
//   format        training.compute
#pragma once

#include <cstdint>
#include <vector>

#include "orrery/planner/question/plan_question.h"
#include "orrery/planner/runs/run_plan.h"

namespace orrery {

struct RunSpace {
  std::vector<Dtype> formats;
  std::vector<std::int64_t> tp, cp, pp, vp, ep;  // ascending
  std::vector<std::int64_t> micro_batch;         // ascending
  std::vector<std::int64_t> zero;
  std::vector<Recompute> recompute;
};

// `node`: GPUs of a node. REQUIRES a PlanQuestion with a run. InputError: a format that is none.
RunSpace run_space(const PlanQuestion& question, const Architecture& model, std::int64_t node);

// The numbers of GPUs to be tried, ascending: those that the plan lists, or powers of two and the
// most; all within the plan's and the stock's GPUs. InputError: none is, or nothing limits them and
// the global batch does not either.
std::vector<std::int64_t> gpu_counts(const PlanQuestion& question, const GpuStock& stock);

}  // namespace orrery
