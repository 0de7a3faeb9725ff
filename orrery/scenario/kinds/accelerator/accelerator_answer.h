// The answer to a question about a chip (accelerator_question.h).
//
// Metrics: cycles or time; chip_energy where the energies of the chip are known; of one einsum
// operations, utilization and chip_area; of a search mappings_tried and mappings_valid; of layers
// stall_cycles. They are those of the whole workload. AcceleratorDetail has the parts.
#pragma once

#include "orrery/base/bundle.h"
#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/kinds/accelerator/accelerator_question.h"

namespace orrery {

// InputError: an unknown name, or a file that cannot be read. NoData: an energy that is not known.
// Infeasible: the mapping overfills the chip, or no valid one was found.
Point answer_accelerator(const Bundle& bundle, const AcceleratorQuestion& question);

// The figures that only chips of a designer have.
std::span<const Figure> accelerator_figures();

}  // namespace orrery
