// The host times of front ends that run in their engine's process
// (EngineProfile::Execution::frontend_in_process), fitted on the times of LLM services.
//
// A step waits per_sequence for each of its sequences and per_rank for each tensor-parallel rank.
// The two minimise a Huber loss of the logarithm of predicted over measured time.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/units.h"
#include "orrery/energy/power/step_power.h"
#include "orrery/validate/energy/llm_power_rows.h"

namespace orrery {

struct InProcessTimes {
  Seconds per_sequence, per_rank;
};

// By the id of the engine; engines without rows of such services have none.
using InProcessFit = std::map<std::string, InProcessTimes>;

// The fit on all rows but those of the group `without`.
InProcessFit fit_in_process(const std::vector<LlmPowerRow>& rows, std::string_view without);

// The work of a row with the waits that the fit gives its engine.
StepWork with_waits(const LlmPowerRow& row, const InProcessFit& fit);

// The text of catalog/engines/in-process/<engine>.yaml. `recipe`: what was fitted.
std::string in_process_text(const InProcessTimes& times, const std::string& recipe);

}  // namespace orrery
