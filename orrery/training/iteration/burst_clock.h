// Products and attention of a training step against the calls of the sweep that timed them.
//
// A step runs products back to back for seconds, at the clock that the board's power allows: 1.41
// to 1.55 GHz on an H100 (docs/lab/2026-11-h100-measured.md). A sweep times some tens of calls. If
// a call takes microseconds, they end before the board lowers its clock (1.98 GHz on the same
// board), and repeated operands may still lie in the L2 cache. If it takes milliseconds, the sweep
// runs as a step does.
#pragma once

#include "orrery/base/units.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/tiers/kernel_model.h"
#include "orrery/workload/training/training_program.h"

namespace orrery {

// The factor by which a product in a step takes longer than `call`, its time in a sweep: from 1 and
// GpuArchitecture::burst for short calls to 1 for long ones, half of it at one millisecond. A
// longer call takes longer after the factor, too.
double burst_factor(const Gpu& gpu, Seconds call);

// The factor by which products and attention take longer on a board that has the peaks of its
// architecture's full board but less power (GpuArchitecture::full_power): the cube root of the
// power, because the power of a chip grows with its clock and with the square of its voltage, which
// grows with the clock. 1 on all other boards: their peaks or their own sweeps show what their
// power allows.
double power_factor(const Gpu& gpu);

// Turns `time` of a sweep into that of a step, if `cost` is one of products or attention. A product
// of `together` experts counts as that many calls, so that one kernel for all experts gains nothing
// by it.
void run_in_step(const Gpu& gpu, TrainingCost cost, double together, KernelTime& time);

}  // namespace orrery
