// `orrery fit training`: fits the constants with which software stacks turn kernel and collective
// times into a training iteration (training/iteration/constants.h).
//
// The rows are the measured iterations of data/training/iteration.csv and, as one more source, the
// steady steps of mlperf_training.csv. The fit is that of training/fit/factor_fit.h with normal
// priors around 1 for factors, and around the documented start for the base. A source of n rows
// weighs as the square root of n, because rows of one source share its errors.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/training/fit/factor_fit.h"
#include "orrery/training/iteration/constants.h"
#include "orrery/validate/report/report.h"
#include "orrery/validate/rows/training_rows.h"

namespace orrery {

// A usable row and the parts of its iteration.
struct TrainingCase {
  TrainingRow row;
  Gpu gpu;
  IterationParts parts;

  MeasuredIteration measured() const;  // borrows from this; without groups and weight
  // Logarithm of predicted over measured time.
  double error(const TrainingConstants& constants) const;
};

// The usable rows of both tables of `dir` (data/training). Rows that the kernel or network models
// cannot answer go to `refused`.
std::vector<TrainingCase> training_cases(const std::filesystem::path& dir, const Bundle& bundle,
                                         std::vector<RefusedRow>& refused);

// The row with the parts of its iteration. The row need not state a time.
TrainingCase training_case(TrainingRow row, const Catalog& catalog, const Bundle& bundle);

// The priors of the fit. Their values were chosen by leaving out one more source inside every fold
// of `orrery validate training`, so that the judging rows did not take part.
struct FitSettings {
  double kernels = 0.5;   // deviation of the logarithm of a base factor of computation
  double experts = 0.15;  // of routed experts, over that of products
  double shares = 0.5;    // the same of what communication exposes
  double host = 0.7;      // of launches, host and optimizer
  double stack = 0.67;    // deviations of a stack's factors, over those of the base
  double gpu = 0.67;      // of an architecture's
  double both = 0.25;     // of a stack's on an architecture
  double format = 0.67;   // of a number format's
  double year = 0.2;      // of what a year changes in a stack
  double noise = 0.08;    // scale of a row's error
  double crowd = 0.5;     // a source of n rows weighs n^(1 - crowd)
  double assumed = 0.5;   // weight of a row whose micro batch is assumed
};

// Fits a table to the trusted rows of `cases`. The factors in `prior` are the start of the fit and
// the means of its priors.
ConstantTable fit_constants(const std::vector<const TrainingCase*>& cases,
                            const ConstantTable& prior, const FitSettings& settings = {});

TrainingConstants constants_of(const ConstantTable& table, const TrainingCase& c);

}  // namespace orrery
