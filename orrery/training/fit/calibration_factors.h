// Corrections of the fitted constants by a user's own measurements: a few iterations on their stack
// and machine. Three iterations bring most of the improvement.
//
// The correction has two steps.
//
// 1. Factors of the constants. Their priors are log-normal around 1. The deviation is smaller for
//    constants that affect more of an iteration: 0.15 for products, 0.2 for other kernels, 0.3 for
//    tensor-parallel collectives and the exchange of experts, 0.8 for all others. The measurement
//    noise is Laplace with scale 0.15, so that one run that differs from the others has little
//    influence.
// 2. The error that the factors leave of a run is passed on to jobs that are like it, by a Gaussian
//    process over runs with deviation 0.1, noise 0.03 and correlation exp(-d). The distance d is
//    the sum of 1 for another model, 1 for another kind of tuning, 0.5 for another release, 0.5 for
//    other recomputation, and 0.1 (log2 of the ratio)^2 for each of tp, pp, vp, cp, ep, sequence
//    length and micro-batch.
//
// The priors are the best of ten settings, and noise and process the best of 24, on the rows that
// `orrery validate training` judges in the table "three own rows" (docs/accuracy.md). The error in
// that table is therefore not that of a blind choice. Settings chosen on one half of the sources
// improved the other half from 8.9 to 8.5 % and from 7.5 to 7.1 %. A further factor common to all
// constants did not improve the rows.
#pragma once

#include <string>
#include <vector>

#include "orrery/training/fit/factor_fit.h"

namespace orrery {

// The properties of a run by which its distance from another run is measured. Model and release are
// the user's names for them.
struct RunLikeness {
  std::string model, release;
  TrainingJob job;
};

struct CalibrationFactors {
  ConstantValues constants;
  // The measured runs, and the weight of the likeness to each of them in the logarithm of the error
  // that the factors leave.
  std::vector<RunLikeness> runs;
  std::vector<double> weights;
};

// Fits the factors to `iterations`, whose member `fixed` has the constants of their jobs. `runs`
// describes the same iterations in the same order.
CalibrationFactors fit_calibration_factors(std::vector<MeasuredIteration> iterations,
                                           std::vector<RunLikeness> runs);

// The constants of a job times the factors, and times the remaining error of runs that are like it
// for all constants that multiply or state a time. Each constant stays in its range. The result is
// as certain as the constants of a stack and GPU that a fit covers: its error is at most
// `covered_error` (ConstantTable::covered_error).
TrainingConstants with_calibration_factors(TrainingConstants constants,
                                           const CalibrationFactors& own, const RunLikeness& run,
                                           double covered_error);

}  // namespace orrery
