// The note about kernels whose time comes from no sweep of the GPU asked about.
#pragma once

#include <optional>
#include <string>

#include "orrery/kernel/tiers/kernel_model.h"
#include "orrery/step/step_model.h"

namespace orrery {

// In one line: the share of the step's kernels that are transferred from another GPU or shape, or
// that physics alone predicts, and where the time of the longest of them is from. Nothing if they
// take less than a twentieth of the step. `phase`: "decode". REQUIRES StepTime::terms.
std::optional<std::string> note_of_origins(const char* phase, const StepTime& step,
                                           const KernelModel& kernels);

}  // namespace orrery
