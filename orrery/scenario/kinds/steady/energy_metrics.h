// The metrics of power and energy of a steady load: `power`, the mean power of a GPU's board while
// the requests are computed, and `energy_per_token` and `energy_per_request`, of all GPUs.
//
// A wave of `running` requests takes the steps that ClosedFormResult::computed says, in the time
// from which the throughput follows, so that the energy of a token times the output throughput is
// the power of all GPUs. The GPUs' boards alone are counted, without hosts, switches and cooling.
// With a power limit or a clock, also `clock`, the mean of both kinds of steps over their time.
#pragma once

#include <cstdint>

#include "orrery/energy/power/step_power.h"
#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/setup/plant_account.h"
#include "orrery/scenario/setup/served_model.h"
#include "orrery/serving/closed_form/closed_form.h"

namespace orrery {

// The work of one GPU for a wave of requests with `osl` output tokens.
StepWork work_of_wave(const ClosedFormResult& result, std::int64_t osl);

// The mean power of a GPU's board during a wave, at the clock of the model's governor.
Estimate<Watts> power_of_wave(const StepPowerConstants& constants, const ServedModel& served,
                              const ClosedFormResult& result, std::int64_t osl);

// Adds the rows of the energy of a request on all GPUs, as its parts are drawn during a wave: the
// boards by the terms of the law of their power (step_power.h), and where `plant` counts more than
// they what it counts besides. Their sum is the metric energy_per_request. Adds the same by kinds
// of kernels (work_of_kinds.h). REQUIRES steps with their terms in `result`.
void add_energy_rows(const StepPowerConstants& constants, const ServedModel& served,
                     std::int64_t osl, const ClosedFormResult& result, const PlantAccount* plant,
                     Point& point);

void add_energy_metrics(const StepPowerConstants& constants, const ServedModel& served,
                        std::int64_t osl, const ClosedFormResult& result, Point& point);

}  // namespace orrery
