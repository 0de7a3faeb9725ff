// The constants of step_power.h, fitted on the power of LLM services (llm_power_rows.h).
//
// A row's work is what the prediction gives, with the waits of in_process_fit.h, which is fitted on
// the same rows before, in the time that was measured. Where the measured time
// is longer, a share of the difference is taken as kernels that run longer, and the rest as gaps.
// The share is fitted for each engine. It is a constant of the rows and not of the model.
//
// The fit minimises a Huber loss of the logarithm of predicted over measured power, with a normal
// prior on every constant, by damped Gauss-Newton steps within bounds.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/energy/power/step_power.h"
#include "orrery/validate/energy/in_process_fit.h"
#include "orrery/validate/energy/llm_power_rows.h"

namespace orrery {

struct StepPowerFit {
  StepPowerConstants constants;
  std::map<std::string, double> longer;  // by engine: share of unforeseen time that kernels take
  InProcessFit in_process;               // with which the work of a row is predicted
};

// The fit on all rows but those of the group `without`. Errors of the constants are 0.
// `regulated`: StepPowerConstants::regulated. InputError: no row is left.
StepPowerFit fit_step_power(const std::vector<LlmPowerRow>& rows, std::string_view without,
                            double regulated);

// The same with the errors that rows of left-out groups tell.
StepPowerConstants fit_step_power(const std::vector<LlmPowerRow>& rows, double regulated);

// Power of one GPU's board in the time that was measured.
Watts power_in_measured_time(const LlmPowerRow& row, const StepPowerFit& fit);

}  // namespace orrery
