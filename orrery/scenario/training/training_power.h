// The power of a GPU's board during a training iteration, by the law of steps
// (energy/power/step_power.h).
//
// The arithmetic is all executed FLOPs. The traffic of the memory is that of the passes' kernels
// which move data (elementwise kernels, norms, casts) and of the optimizer, whose time is taken as
// that of their bytes at the bandwidth. Collectives count where they are exposed. Bubbles, waits
// for the host and for the slowest rank are idle time. No reading of training is in the fit, so
// that the figure is a transferred one.
#pragma once

#include "orrery/energy/power/step_power.h"
#include "orrery/training/iteration/iteration.h"

namespace orrery {

// The work of a GPU in an iteration. `flops`: that it executes. `peak`: of its number format.
StepWork work_of(const IterationTime& time, Flops flops, FlopsPerSecond peak);

}  // namespace orrery
