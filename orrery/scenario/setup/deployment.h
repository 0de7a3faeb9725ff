// A Scenario's choices made concrete: facts loaded, defaults taken (each with a note), names turned
// into formats.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "orrery/hardware/gpu.h"
#include "orrery/kernel/tiers/kernel_model.h"
#include "orrery/model/architecture.h"
#include "orrery/scenario/question/scenario.h"
#include "orrery/workload/inference/program.h"
#include "orrery/workload/plan/engine.h"

namespace orrery {

struct Deployment {
  Gpu gpu;
  EngineProfile engine;  // with the defaults it takes on this GPU, and the scenario's overrides
  Precision precision;
  KernelClasses classes;
  std::vector<std::string> notes;

  // The whole configuration after all defaults, as it goes into every answer.
  nlohmann::ordered_json resolved(const Scenario& scenario) const;
};

// `gpu` and `engine`: the facts that the scenario names. InputError: formats that do not exist,
// overrides that are no keys of the profile. NoData: the GPU has no arithmetic for a format.
Deployment make_deployment(const Scenario& scenario, const Architecture& model, const Gpu& gpu,
                           const EngineProfile& engine);

}  // namespace orrery
