#include "orrery/scenario/runner/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "orrery/model/parameters.h"
#include "orrery/scenario/collective/collective_answer.h"
#include "orrery/scenario/kernel/kernel_answer.h"
#include "orrery/scenario/question/scenario_sweep.h"
#include "orrery/scenario/service/service_points.h"
#include "orrery/scenario/setup/deployment.h"
#include "orrery/scenario/steady/steady_answer.h"
#include "orrery/scenario/training/training_points.h"

namespace orrery {
namespace {

constexpr double kMostPoints = 100'000;  // of a sweep: some seconds and a gigabyte with breakdowns

bool has_experts(const Architecture& model) {
  const auto& specs = model.layers.specs();
  return std::any_of(specs.begin(), specs.end(),
                     [](const LayerSpec& s) { return std::holds_alternative<MoeMlp>(s.mlp); });
}

void check_sweep(const Scenario& s) {
  const double points = point_count(s);
  if (points > kMostPoints) {
    throw InputError(fmt::format("a sweep of {} points (what is swept multiplies); at most {}",
                                 points, kMostPoints));
  }
}

}  // namespace

Answer Runner::run_variants(const Scenario& scenario, const RunOptions& options) {
  Answer all;
  for (const Scenario& variant : scenario.variants) {
    const nlohmann::ordered_json at = swept_values(scenario, variant);
    Answer one;
    try {
      one = run(variant, options);
    } catch (const Infeasible& e) {
      if (scenario.variants.size() == 1) throw;
      Point p;
      p.feasibility = {false, e.what()};
      one = {scenario.name, nullptr, {std::move(p)}};
    }
    if (all.resolved.is_null()) all.resolved = std::move(one.resolved);
    for (Point& p : one.points) {
      for (const auto& [key, value] : at.items())
        if (key != "gpu" || !p.at.contains(key)) p.at[key] = value;  // its id, however written
      all.points.push_back(std::move(p));
    }
  }
  all.scenario = scenario.name;
  if (all.resolved.is_null()) all.resolved = to_json(scenario);
  all.resolved["sweep"] = sweep_json(scenario);
  return all;
}

Answer Runner::run(const Scenario& scenario, const RunOptions& options) {
  check_sweep(scenario);
  if (!scenario.variants.empty()) return run_variants(scenario, options);
  if (scenario.kind == Scenario::Kind::kCollective) {
    const auto& h = scenario.hardware;
    return {
        scenario.name, to_json(scenario),
        answer_collectives(scenario.collective, h.gpu, h.node, facts_.bundle(), options.bounds)};
  }
  if (scenario.kind == Scenario::Kind::kKernel) {
    const Gpu& device = facts_.gpu(scenario.hardware.gpu);
    const KernelClasses classes = classes_of(scenario.kernel);
    return {scenario.name, to_json(scenario),
            answer_kernels(scenario.kernel, device, facts_.kernels(device, classes, options.tier))};
  }
  Architecture model = facts_.architecture(scenario.model);
  if (scenario.model_overrides.kv_heads > 0)
    model = with_kv_heads(std::move(model), scenario.model_overrides.kv_heads);
  if (!scenario.of_the_model.empty() && !has_experts(model)) scenario.of_the_model[0].refuse();
  if (scenario.kind == Scenario::Kind::kTraining) {
    const Gpu& device = facts_.gpu(scenario.hardware.gpu);
    const KernelModel& times = facts_.kernels(device, {}, options.tier);
    return {scenario.name, to_json(scenario),
            answer_training(scenario.training,
                            {model, device, scenario.hardware.node, times, facts_.bundle(),
                             options.breakdown, options.steps, options.bounds})};
  }
  const Deployment base =
      make_deployment(scenario, model, facts_.gpu(scenario.hardware.gpu),
                      facts_.engine(scenario.engine.profile, facts_.gpu(scenario.hardware.gpu)));
  if (scenario.kind == Scenario::Kind::kService)
    return answer_services(facts_, scenario, model, base, options);
  return answer_steady(facts_, scenario, model, base, options);
}

}  // namespace orrery
