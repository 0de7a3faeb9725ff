// A step as a Chakra execution trace (chakra.h): one rank's kernels and collectives in their order,
// for ASTRA-sim and for `orrery network --chakra`. Kernels have their predicted durations in whole
// microseconds, as the schema has them, whose sum is the step's; what the host adds around them is
// not in it.
#pragma once

#include <string>

#include "orrery/step/step_model.h"
#include "orrery/workload/plan/engine.h"

namespace orrery {

// The bytes of the file PREFIX.0.et. It names the library of the engine's collectives and what the
// engine adds to each, so that a replay takes the same. REQUIRES step.terms.
std::string chakra_step(const StepTime& step, const ParallelPlan& plan,
                        const EngineProfile& engine);

}  // namespace orrery
