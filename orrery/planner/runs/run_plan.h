// A plan of a training run: GPUs of one type, their number, the layout on them, and the limit and
// the clock of their boards.
#pragma once

#include <cstdint>
#include <string>

#include "orrery/energy/power/clock_power.h"
#include "orrery/planner/question/plan_question.h"
#include "orrery/scenario/kinds/training/training_question.h"
#include "orrery/scenario/question/scenario.h"

namespace orrery {

// The sizes of a run that a plan chooses (planned_training_keys).
struct RunLayout {
  std::int64_t gpus = 1;
  Dtype format = Dtype::kBf16;  // of the products
  int tp = 1, cp = 1, pp = 1, vp = 1, ep = 1;
  std::int64_t micro_batch = 1;
  int zero = 0;
  Recompute recompute = Recompute::kNone;

  std::int64_t dp() const { return gpus / (std::int64_t{tp} * cp * pp); }
  // The question about the run in this layout.
  TrainingQuestion asked(const TrainingQuestion& run) const;
  bool operator==(const RunLayout&) const = default;
};

struct RunPlan {
  GpuStock gpu;
  RunLayout layout;
  PowerKnobs boards = {};  // none: the boards' own limit and clock

  // "1024 h100-sxm, bf16, tp 8, pp 8, dp 16, zero 1, 500 W"; sizes of 1 are left out.
  std::string name() const;
  // The run of `question` on these GPUs. REQUIRES a PlanQuestion with a run.
  Scenario asked(const Scenario& question) const;
};

}  // namespace orrery
