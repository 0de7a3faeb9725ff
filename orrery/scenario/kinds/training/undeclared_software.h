// The releases of the stack and of PyTorch that are taken where a question does not state those of
// its software, with the deviation that this adds (Undeclared).
#pragma once

#include <optional>

#include "orrery/scenario/kinds/training/training_layout.h"
#include "orrery/scenario/kinds/training/training_system.h"

namespace orrery {

// The stack's release; nothing where the question or own runs say it, or all releases take the same
// time.
std::optional<Undeclared> undeclared_release(const TrainingSystem& system,
                                             const IterationParts& parts, const TrainingJob& job);

// The release of PyTorch; nothing where the newest runs the same kernels, or the question states it
// or the stack's release. `time`: of the job by `iterations` and `constants`.
std::optional<Undeclared> undeclared_torch(const TrainingSystem& system,
                                           const IterationModel& iterations,
                                           const IterationTime& time,
                                           const TrainingConstants& constants,
                                           const TrainingJob& job);

}  // namespace orrery
