// A user's own corrections on top of the fitted constants: from a few iterations that they measured
// on their stack and machine (three say most of it).
//
// Factors of the constants first: priors are normal around 1, the narrower the more of an iteration
// the constant is of: products 0.15, other kernels 0.2, tensor-parallel collectives and the
// exchange of experts 0.3, all else 0.8; Laplace noise of 15 %, so that one run that is unlike the
// others pulls little. What they leave of a run is then passed on to jobs like it: a Gaussian
// process over runs, deviation 0.1, noise 0.03, correlation exp(-d) with d the sum of 1 for another
// model or kind of tuning, 1/2 for another release or recomputation, and 0.1 (log2 of the ratio)^2
// for each of tp, pp, vp, cp, ep, sequence and micro-batch.
//
// The priors were the best of ten settings on the rows that `orrery validate training` (table
// "three own rows") judges; noise and process the best of 24 there, and better than without on each
// half of the sources by settings that the other half chose (8.9 to 8.5 and 7.5 to 7.1 %). Its
// figures are not those of a blind choice. A factor common to all constants was tried: no better.
#pragma once

#include <string>
#include <vector>

#include "orrery/training/fit/factor_fit.h"

namespace orrery {

// What tells how alike two runs are. Model and release as their user names them.
struct RunLikeness {
  std::string model, release;
  TrainingJob job;
};

struct CalibrationFactors {
  ConstantValues constants;
  // Of every run: the weight of its likeness in the logarithm of what constants leave.
  std::vector<RunLikeness> runs;
  std::vector<double> weights;
};

// `iterations` with `fixed` set to the constants of their jobs; `runs`: the same, in their order.
CalibrationFactors fit_calibration_factors(std::vector<MeasuredIteration> iterations,
                                           std::vector<RunLikeness> runs);

// The constants of a job times the factors, and what runs like it leave on all that takes time,
// within each constant's range; as certain as those of a stack and GPU that the table's fit has
// seen (`covered_error`).
TrainingConstants with_calibration_factors(TrainingConstants constants,
                                           const CalibrationFactors& own, const RunLikeness& run,
                                           double covered_error);

}  // namespace orrery
