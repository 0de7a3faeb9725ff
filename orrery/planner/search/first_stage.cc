#include "orrery/planner/search/first_stage.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "orrery/planner/space/space.h"
#include "orrery/planner/store/result_key.h"
#include "orrery/planner/store/value_bytes.h"

namespace orrery {
namespace {

constexpr double kHoursOfMonth = 730;
constexpr std::int64_t kNoLimit = 100'000;  // engines
constexpr std::size_t kOfTask = 4;          // engines that a rank bounds at once

// All that the bound of an engine depends on: the engine, and of the load and the limits what
// engine_bound() reads.
std::string bound_key(const Scenario& question, const EngineOption& option,
                      const PlannedLoad& load) {
  const auto& slo = question.as<PlanQuestion>().service.slo;
  std::string what = fmt::format("bound, {} {} {} {}", exact_number(load.isl),
                                 exact_number(load.osl), load.equal, load.shares_prompts);
  for (const Seconds limit : {slo.ttft, slo.tpot, slo.e2e})
    what += fmt::format(" {}", exact_number(limit.value()));
  for (const auto& own : {slo.ttft_percentile, slo.tpot_percentile, slo.e2e_percentile})
    what += fmt::format(" {}", exact_number(own.value_or(slo.percentile)));
  Scenario s = option.asked(question);
  s.asked = SteadyQuestion();
  return result_key(what, s);
}

EngineBound known_bound(Desk& desk, Runner& runner, const Scenario& question,
                        const EngineOption& option, const PlannedLoad& load) {
  EngineBound out;
  const auto numbers = [&out] {
    return std::array{&out.prefill, &out.decode, &out.likely, &out.hour, &out.ttft, &out.tpot};
  };
  const std::string value = desk.value([&] { return bound_key(question, option, load); },
                                       [&] {
                                         out = engine_bound(runner, question, option, load);
                                         ValueWriter bytes;
                                         bytes.text(out.misfit);
                                         for (const double* x : numbers()) bytes.real(*x);
                                         return bytes.take();
                                       });
  ValueReader in(value);
  out.misfit = in.text();
  for (double* x : numbers()) *x = in.real();
  return out;
}

}  // namespace

FirstStage first_stage(Runner& runner, const Scenario& question, const PlannedLoad& load,
                       Desk& desk) {
  FirstStage out;
  const Architecture& model = runner.architecture(question.model);
  std::vector<EngineOption> options = engine_options(question, runner.catalog(), model);
  const auto bound = [&](std::size_t i) {
    return known_bound(desk, runner, question, options[i], load);
  };
  const auto ahead = [&](std::size_t task, double) {
    const std::size_t end = std::min(options.size(), (task + 1) * kOfTask);
    for (std::size_t i = task * kOfTask; i < end; ++i) bound(i);
  };
  desk.together("engines", (options.size() + kOfTask - 1) / kOfTask, ahead, [&] {
    for (std::size_t i = 0; i < options.size(); ++i) {
      if (i % kOfTask == 0) desk.reach(i / kOfTask);
      ++out.considered;
      EngineBound found = bound(i);
      if (!found.misfit.empty()) {
        ++out.rejected[found.misfit];
      } else {
        out.options.push_back({std::move(options[i]), std::move(found)});
      }
    }
  });
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
  return std::max<std::int64_t>(0, most - plan.spare);
}

}  // namespace orrery
