// The work of a step, from which the power of a GPU follows (energy/power/step_power.h).
#pragma once

#include "orrery/energy/power/step_power.h"
#include "orrery/step/step_model.h"

namespace orrery {

// The work of one GPU during a step of its pipeline stage.
inline StepWork work_of(const StepTime& step) {
  return {step.total.value, step.kernels, step.communication, step.compute, step.memory};
}

}  // namespace orrery
