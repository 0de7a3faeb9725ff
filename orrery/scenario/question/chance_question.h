// The keys `chance` of a scenario about training: variability of GPUs, failures, checkpoints.
#pragma once

#include "orrery/base/fields.h"
#include "orrery/training/chance/chance.h"

namespace orrery {

// Declares every parameter of training_chance that a user may set.
void declare(Fields& fields, ChanceQuestion& question);

}  // namespace orrery
