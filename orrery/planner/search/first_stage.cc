#include "orrery/planner/search/first_stage.h"

#include <algorithm>
#include <cmath>

#include "orrery/planner/search/spares.h"
#include "orrery/planner/space/space.h"

namespace orrery {
namespace {

constexpr double kHoursOfMonth = 730;
constexpr std::int64_t kNoLimit = 100'000;  // engines

}  // namespace

FirstStage first_stage(Runner& runner, const Scenario& question, const PlannedLoad& load) {
  FirstStage out;
  const Architecture& model = runner.architecture(question.model);
  for (EngineOption& option : engine_options(question, runner.catalog(), model)) {
    ++out.considered;
    EngineBound bound = engine_bound(runner, question, option, load);
    if (!bound.misfit.empty()) {
      ++out.rejected[bound.misfit];
    } else {
      out.options.push_back({std::move(option), std::move(bound)});
    }
  }
  return out;
}

std::int64_t most_engines(const PlanChoice& plan, const RatedOption& rated, std::int64_t gpus_taken,
                          double hour_taken) {
  const std::int64_t size = rated.option.gpus();
  std::int64_t most = kNoLimit;
  for (const std::int64_t gpus : {plan.gpus, rated.option.gpu.gpus})
    if (gpus > 0) most = std::min(most, (gpus - gpus_taken) / size);
  if (plan.budget > 0) {
    const double hour = plan.budget / kHoursOfMonth - hour_taken;
    most = std::min(most, static_cast<std::int64_t>(std::floor(hour / rated.bound.hour + 1e-9)));
  }
  if (most < kNoLimit || plan.spare > 0) {
    std::int64_t engines = std::max<std::int64_t>(0, most - plan.spare);
    while (engines > 0 && engines + spares(plan, rated.option, engines) > most) --engines;
    return engines;
  }
  return most;
}

}  // namespace orrery
