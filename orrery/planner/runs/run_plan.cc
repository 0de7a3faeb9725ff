#include "orrery/planner/runs/run_plan.h"

#include <fmt/format.h>

#include "orrery/planner/question/plan_question.h"
#include "orrery/planner/space/board_settings.h"
#include "orrery/scenario/kinds/training/training_question.h"

namespace orrery {

TrainingQuestion RunLayout::asked(const TrainingQuestion& run) const {
  TrainingQuestion q = run;
  TrainingPlan& plan = q.job.plan;
  q.gpus = gpus, plan.tp = tp, plan.cp = cp, plan.pp = pp, plan.vp = vp, plan.ep = ep;
  q.job.micro_batch = micro_batch;
  q.zero = zero, q.recompute = recompute;
  q.job.precision.compute = format;
  return q;
}

std::string RunPlan::name() const {
  const RunLayout& l = layout;
  std::string out = fmt::format("{} {}, {}", l.gpus, gpu.gpu, to_text(l.format));
  const auto add = [&out](const char* what, std::int64_t n) {
    if (n > 1) out += fmt::format(", {} {}", what, n);
  };
  add("tp", l.tp), add("cp", l.cp), add("pp", l.pp), add("vp", l.vp), add("ep", l.ep);
  add("dp", l.dp());
  out += fmt::format(", micro batch {}", l.micro_batch);
  if (l.zero > 0) out += fmt::format(", zero {}", l.zero);
  if (l.recompute != Recompute::kNone) out += fmt::format(", recompute {}", to_text(l.recompute));
  return out + to_text(boards);
}

Scenario RunPlan::asked(const Scenario& question) const {
  Scenario s = question;
  s.hardware.gpu = gpu.gpu;
  s.hardware.power_limit = boards.limit, s.hardware.clock = boards.clock;
  s.asked = layout.asked(*planned(question).training);
  return s;
}

}  // namespace orrery
