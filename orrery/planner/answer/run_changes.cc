#include "orrery/planner/answer/run_changes.h"

#include <fmt/format.h>

#include <map>

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
    if (r.run.total < best.run.total && (!sooner || r.run.usd < sooner->run.usd)) sooner = &r;
    if (r.plan.gpu.gpu == best.plan.gpu.gpu) continue;
    const RatedRun*& least = others[r.plan.gpu.gpu];
    if (least == nullptr || gpu_hours(r) < gpu_hours(*least)) least = &r;
  }
  if (sooner != nullptr) {
    const double days = (best.run.total - sooner->run.total).value() / kSecondsOfDay;
    out.push_back(fmt::format(
        "with plan.by below {:.4g} days: {}, {:.4g} days sooner, {:.3g} USD for each day",
        best.run.total.value() / kSecondsOfDay, sooner->plan.name(), days,
        (sooner->run.usd - best.run.usd) / days));
  }
  for (const auto& [gpu, r] : others)
    out.push_back(fmt::format("with {} alone: {}: better below {:.3g} USD for a GPU-hour", gpu,
                              r->plan.name(), best.run.usd / gpu_hours(*r)));
  return out;
}

}  // namespace orrery
