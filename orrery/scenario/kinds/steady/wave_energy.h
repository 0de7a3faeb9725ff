// The energy of a steady load: of the GPUs' boards, and of chips of cores.
//
// A wave of `running` requests takes the steps that ClosedFormResult::computed says, in the time
// from which the throughput follows, so that the energy of a token times the output throughput is
// the power of all GPUs. The GPUs' boards alone are counted, without hosts, switches and cooling.
#pragma once

#include <vector>

#include "orrery/accelerator/chip/core_chip.h"
#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/setup/plant_account.h"
#include "orrery/scenario/setup/served_model.h"
#include "orrery/serving/closed_form/closed_form.h"

namespace orrery {

// The work of one GPU for a wave of requests.
StepWork work_of_wave(const ClosedFormResult& result);

// The energy of a wave on the boards of all GPUs.
struct WaveEnergy {
  Estimate<Watts> power;  // mean of a board, at the clock of the model's governor
  // The kinds of steps with their clocks. Without a power limit or a clock there are none.
  std::vector<ClockedSteps> clocked;
  StepWork work;  // of a GPU, at the reference clock
  Estimate<Joules> token, request;
};
// Nothing: the data sheet states no power.
std::optional<WaveEnergy> wave_energy(const StepPowerConstants& constants,
                                      const ServedModel& served, const ClosedFormResult& result);

// Adds the rows of the energy of a request on all GPUs, as its parts are drawn during a wave: the
// boards by the terms of the law of their power (step_power.h), and where `plant` counts more than
// they what it counts besides. Their sum is the metric energy_per_request. Adds the same by kinds
// of kernels (work_of_kinds.h). REQUIRES steps with their terms in `result`.
void add_energy_rows(const StepPowerConstants& constants, const ServedModel& served,
                     const WaveEnergy& wave, const ClosedFormResult& result,
                     const PlantAccount* plant, Point& point);

// The energy of a token on `chips` chips of cores, of the prompts and the decode steps of a wave:
// each kernel's actions by the chip's energies, and what the chip draws when idle for as long as
// the steps take. A chip whose file states no energies draws its thermal design power instead; one
// without that has no energy. Energy of links and hosts is left out. `result` must have the terms
// of its steps.
std::optional<Estimate<Joules>> chip_energy_of_token(const CoreChip& chip, int chips,
                                                     const ClosedFormResult& result);

}  // namespace orrery
