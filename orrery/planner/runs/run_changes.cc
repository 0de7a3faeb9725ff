#include "orrery/planner/runs/run_changes.h"

#include <fmt/format.h>

#include <map>

#include "orrery/planner/question/plan_question.h"
#include "orrery/scenario/answer/prospect.h"

namespace orrery {
namespace {

constexpr double kSecondsOfDay = 86400, kSecondsOfHour = 3600;

double gpu_hours(const RatedRun& r) {
  return static_cast<double>(r.plan.layout.gpus) * r.run.total.value() / kSecondsOfHour;
}

}  // namespace

std::vector<std::string> run_changes(PlanObjective objective, const RunSearch& search,
                                     const RatedRun& best) {
  std::vector<std::string> out;
  if (objective != PlanObjective::kCost || best.run.usd <= 0) return out;
  const RatedRun* sooner = nullptr;
  std::map<std::string, const RatedRun*> others;  // the fewest GPU-hours of each other type
  for (const auto& size : search.best) {
    const RatedRun& r = size.front();
    if (r.run.total < best.run.total && r.run.usd > best.run.usd &&
        (!sooner || r.run.usd < sooner->run.usd))
      sooner = &r;
    if (r.plan.gpu.gpu == best.plan.gpu.gpu) continue;
    const RatedRun*& least = others[r.plan.gpu.gpu];
    if (least == nullptr || gpu_hours(r) < gpu_hours(*least)) least = &r;
  }
  if (sooner != nullptr) {
    const bool short_run = best.run.total.value() < 2 * kSecondsOfDay;
    const double unit = short_run ? kSecondsOfHour : kSecondsOfDay;
    const char* name = short_run ? "hour" : "day";
    const double saved = (best.run.total - sooner->run.total).value() / unit;
    out.push_back(
        fmt::format("with plan.by below {:.4g} {}s: {}, {:.4g} {}s sooner, {:.3g} USD for each {}",
                    best.run.total.value() / unit, name, sooner->plan.name(), saved, name,
                    (sooner->run.usd - best.run.usd) / saved, name));
  }
  for (const auto& [gpu, r] : others)
    out.push_back(fmt::format("with {} alone: {}: better below {:.3g} USD for a GPU-hour", gpu,
                              r->plan.name(),
                              best.ranked(objective) / per_chance(gpu_hours(*r), r->fits)));
  return out;
}

}  // namespace orrery
