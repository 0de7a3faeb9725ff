#include "orrery/scenario/setup/served_model.h"

#include <fmt/format.h>

#include "orrery/base/error.h"
#include "orrery/model/architecture/parameters.h"
#include "orrery/scenario/setup/board_governor.h"

namespace orrery {
namespace {

struct DeploymentKey {
  ServingSetup setup;
  EngineUse use;
  bool operator==(const DeploymentKey&) const = default;
};

struct ServedModelKey {
  ServingSetup setup;
  EngineUse use;
  bool operator==(const ServedModelKey&) const = default;
};

struct ArchitectureKey {
  std::string model;
  ServingSetup::ModelOverrides overrides;
  bool operator==(const ArchitectureKey&) const = default;
};

}  // namespace

void check_board(Facts& facts, const Gpu& gpu, const PowerKnobs& knobs) {
  if (!knobs.any()) return;
  if (facts.chip(gpu.id) != nullptr)
    throw NoData(
        fmt::format("hardware: {} is a chip of cores, whose clock is that of its file", gpu.id));
  const Watts most = gpu.power.value_or(Watts(0));
  check_knobs(gpu, most * facts.step_power().board(gpu.id).awake, knobs);
}

void add_steps(Facts& facts, const StepSource& source, ServedModel& served) {
  const Deployment& d = served.deployment;
  check_board(facts, d.gpu, source.knobs);
  served.knobs = source.knobs;
  if (source.knobs.any())
    served.governor =
        std::make_unique<BoardGovernor>(facts.step_power(), d.gpu, d.engine.id, source.knobs);
  served.steps = std::make_unique<StepModel>(
      served.model, served.plan, d.precision, d.engine, facts.kernels(d.gpu, d.classes),
      facts.network(d.gpu, source.node, served.plan, d.engine.kernels.collectives),
      source.expert_skew);
  served.steps->govern(served.governor.get());
}

std::shared_ptr<const ServedModel> make_served_model(Facts& facts, Architecture model,
                                                     Deployment deployment,
                                                     const ParallelPlan& plan,
                                                     const StepSource& source) {
  check_plan(model, plan, deployment.precision);
  auto served = std::make_shared<ServedModel>(std::move(model), std::move(deployment), plan);
  const Deployment& d = served->deployment;
  served->memory = std::make_unique<MemoryModel>(served->model, plan, d.precision, d.engine, d.gpu);
  add_steps(facts, source, *served);
  return served;
}

Architecture architecture_of(Facts& facts, const ServingSetup& setup) {
  Architecture model = facts.architecture(setup.model);
  if (setup.model_overrides.kv_heads > 0)
    model = with_kv_heads(std::move(model), setup.model_overrides.kv_heads);
  return model;
}

std::shared_ptr<const Deployment> deployment_of(Facts& facts, const Scenario& scenario,
                                                const EngineUse& use) {
  ServingSetup setup = scenario;
  setup.parallel = {};  // of no effect on it, but for the ranks by which defaults differ
  setup.parallel.tp = scenario.parallel.tp, setup.parallel.cp = scenario.parallel.cp;
  return facts.latest<Deployment>(DeploymentKey{std::move(setup), use}, [&] {
    const auto model =
        facts.latest<Architecture>(ArchitectureKey{scenario.model, scenario.model_overrides},
                                   [&] { return architecture_of(facts, scenario); });
    const Gpu& gpu = facts.gpu(scenario.hardware.gpu);
    return make_deployment(scenario, *model, gpu, facts.engine(scenario.engine.profile, gpu), use);
  });
}

std::shared_ptr<const ServedModel> served_model_of(Facts& facts, const Scenario& scenario,
                                                   const EngineUse& use) {
  return *facts.latest<std::shared_ptr<const ServedModel>>(ServedModelKey{scenario, use}, [&] {
    return make_served_model(
        facts, architecture_of(facts, scenario), *deployment_of(facts, scenario, use),
        scenario.parallel,
        {scenario.hardware.node, scenario.workload.expert_skew, scenario.hardware.knobs()});
  });
}

}  // namespace orrery
