// Energy and area of a chip of cores in the answer to a steady load.
#pragma once

#include <cstdint>

#include "orrery/accelerator/chip/core_chip.h"
#include "orrery/scenario/answer/answer.h"
#include "orrery/serving/closed_form/closed_form.h"

namespace orrery {

// Adds the metrics energy_per_token and chip_area. The energy is that of the prompts and of the
// decode steps of a batch on `chips` chips, over the tokens generated: each kernel's actions by the
// chip's energies, and what the chip draws when idle for as long as the steps take. A chip whose
// file states no energies draws its thermal design power instead; one without that has no energy.
// Energy of links and hosts is left out. `result` must have the terms of its steps.
void add_chip_metrics(const CoreChip& chip, int chips, std::int64_t osl,
                      const ClosedFormResult& result, Point& point);

}  // namespace orrery
