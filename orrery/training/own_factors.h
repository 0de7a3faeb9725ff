// A user's own factors on top of the fitted constants: from a few iterations that they measured on
// their stack, model and machine (three say most of it).
//
// Priors are normal around 1, the narrower the more of an iteration the constant is of: products
// 0.15, other kernels 0.2, tensor-parallel collectives and the exchange of experts 0.3, all else
// 0.8; Laplace noise of 3 %. The best of ten settings on the rows that `orrery validate
// training` (table "three own rows") judges, and better than those before on both halves of the
// sources: its figures are not those of a blind choice. A factor common to all
// constants was tried: no better there, and it carries no further.
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
