// A model as an engine serves it: the architecture, its layout over GPUs, the deployment with all
// defaults taken, the memory that it fills and the time of its steps.
#pragma once

#include <memory>
#include <string>

#include "orrery/energy/power/clock_power.h"
#include "orrery/kernel/tiers/kernel_model.h"
#include "orrery/memory/memory_model.h"
#include "orrery/model/architecture/architecture.h"
#include "orrery/scenario/question/scenario.h"
#include "orrery/scenario/setup/deployment.h"
#include "orrery/scenario/setup/facts.h"
#include "orrery/step/step_model.h"
#include "orrery/workload/plan/plan.h"

namespace orrery {

// Neither copied nor moved: `steps` borrows the other members.
struct ServedModel {
  ServedModel(Architecture architecture, Deployment serving, const ParallelPlan& layout)
      : model(std::move(architecture)), deployment(std::move(serving)), plan(layout) {}
  ServedModel(const ServedModel&) = delete;
  ServedModel& operator=(const ServedModel&) = delete;

  Architecture model;
  Deployment deployment;
  ParallelPlan plan;
  std::unique_ptr<MemoryModel> memory;
  PowerKnobs knobs;
  std::unique_ptr<StepGovernor> governor;  // absent where the boards' clock is not asked for
  std::unique_ptr<StepModel> steps;        // absent where the time of steps is not asked for
};

// Inputs of a model's step times besides the served model itself.
struct StepSource {
  std::string node;        // empty: the usual one of the GPU
  double expert_skew = 0;  // exponent of the power law of expert loads; 0: balanced
  PowerKnobs knobs = {};   // of the boards
};

// Checks the layout, then makes memory and steps. The Facts must outlive the result.
// Infeasible: the layout breaks a rule of the model.
std::shared_ptr<const ServedModel> make_served_model(Facts& facts, Architecture model,
                                                     Deployment deployment,
                                                     const ParallelPlan& plan,
                                                     const StepSource& source);
// Checks what is asked of the boards of `gpu`. InputError, NoData: as check_knobs
// (energy/power/clock_power.h).
void check_board(Facts& facts, const Gpu& gpu, const PowerKnobs& knobs);
// Adds the steps of a served model whose memory is another's concern, such as a drafter's.
void add_steps(Facts& facts, const StepSource& source, ServedModel& served);

// The architecture that a scenario names, with its overrides.
Architecture architecture_of(Facts& facts, const ServingSetup& setup);
// The deployment that a scenario names.
std::shared_ptr<const Deployment> deployment_of(Facts& facts, const Scenario& scenario,
                                                const EngineUse& use = {});
// The model that a scenario serves. Points of a sweep that follow each other share it where their
// setup is the same.
std::shared_ptr<const ServedModel> served_model_of(Facts& facts, const Scenario& scenario,
                                                   const EngineUse& use = {});

}  // namespace orrery
