// The power of a GPU's board during a training iteration, by the law of steps
// (energy/power/step_power.h).
//
// The arithmetic is all executed FLOPs. The traffic of the memory is that of the passes' kernels
// which move data (elementwise kernels, norms, casts) and of the optimizer, whose time is taken as
// that of their bytes at the bandwidth. Collectives count where they are exposed. Bubbles, waits
// for the host and for the slowest rank are idle time. No reading of training is in the fit, so
// that the figure is a transferred one.
//
// The GPUs of a run also wait: while a checkpoint is written, from a failure to the first step
// after it, and for slow ranks, degraded links and late data. A board that waits is awake, as
// between the kernels of an iteration and as the engines of a simulated service are that start.
#pragma once

#include "orrery/energy/power/clock_power.h"
#include "orrery/energy/power/step_power.h"
#include "orrery/training/iteration/iteration.h"

namespace orrery {

// The work of a GPU in an iteration. `flops`: that it executes. `peak`: of its number format.
StepWork work_of(const IterationTime& time, Flops flops, FlopsPerSecond peak);

// The mean power of a board over a run that draws `iteration` while iterations run, for the share
// `busy` of its time, and is awake in the rest. The errors are those of `iteration`. NoData: the
// data sheet states no power.
Estimate<Watts> power_of_run(const StepPowerConstants& constants, const Gpu& gpu,
                             const Estimate<Watts>& iteration, double busy);

// An iteration at the clock of its board: the decision, and the work at the reference clock.
struct IterationClock {
  BoardClock clock;
  StepWork reference;
  double longer = 1;  // the time at the clock over that at the reference clock

  // The iteration as it takes `total`, by whatever fidelity that was computed.
  ClockedSteps steps(const StepWork& work, Seconds total) const;
};
// The board's clock is that of the mean of an iteration, which lasts seconds. `at(n)`: the work of
// an iteration with the clock slowed by n. Without knobs: the reference clock.
IterationClock iteration_clock(const StepPowerConstants& constants, const Gpu& gpu,
                               const PowerKnobs& knobs,
                               const std::function<StepWork(double slowdown)>& at);

}  // namespace orrery
