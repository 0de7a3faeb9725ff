// A user's own factors on top of the fitted constants: from a few iterations that they measured on
// their stack, model and machine (three say most of it).
//
// Priors are normal around 1, narrower for kernels (0.2) than for what communication exposes and
// the host (0.3), Laplace noise of 2 %: chosen on halves of the sources of data/training that
// agreed (`orrery validate training`, table "three own rows", says what they bring). A factor
// common to all constants was tried: no better there, and it carries no further.
#pragma once

#include <vector>

#include "orrery/training/factor_fit.h"

namespace orrery {

// `iterations` with `fixed` set to the constants of their jobs.
ConstantValues fit_own_factors(std::vector<MeasuredIteration> iterations);

// The constants times the factors, within each constant's range; as certain as those of a stack and
// GPU that the table's fit has seen (`covered_error`).
TrainingConstants with_own_factors(TrainingConstants constants, const ConstantValues& own,
                                   double covered_error);

}  // namespace orrery
