// The deployment of a Scenario: its facts are loaded, its defaults filled in (each with a note),
// and its names replaced by formats.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "orrery/hardware/gpu.h"
#include "orrery/kernel/tiers/kernel_model.h"
#include "orrery/model/architecture/architecture.h"
#include "orrery/scenario/question/scenario.h"
#include "orrery/workload/inference/program.h"
#include "orrery/workload/plan/engine.h"

namespace orrery {

// Properties of a simulated service that change its engine's constants.
struct EngineUse {
  std::int64_t tokens_per_sequence = 1;  // of a decode step: one, and its drafts
  bool frees_outside_windows = true;     // no technique keeps the KV blocks that windows have left
  bool operator==(const EngineUse&) const = default;
};

struct Deployment {
  Gpu gpu;
  EngineProfile engine;  // with the defaults it takes on this GPU, and the scenario's overrides
  Precision precision;
  KernelClasses classes;
  std::vector<std::string> notes;

  // The whole configuration after all defaults, as it goes into every answer.
  nlohmann::ordered_json resolved(const Scenario& scenario) const;
};

// `gpu` and `engine`: the facts that the scenario names; `use`: what a simulated service makes of
// them. InputError: formats that do not exist,
// overrides that are no keys of the profile. NoData: the GPU has no arithmetic for a format.
Deployment make_deployment(const Scenario& scenario, const Architecture& model, const Gpu& gpu,
                           const EngineProfile& engine, const EngineUse& use = {});

}  // namespace orrery
