// A user's own runs (calibration_runs.h) correct the fitted constants of the stack.
#pragma once

#include <memory>
#include <string>

#include "orrery/scenario/kinds/training/training_question.h"
#include "orrery/scenario/kinds/training/training_setting.h"
#include "orrery/scenario/setup/facts.h"
#include "orrery/training/fit/calibration_factors.h"
#include "orrery/training/iteration/constants.h"

namespace orrery {

// Factors on the stack's constants, fitted to a user's runs.
struct TrainingCalibration {
  CalibrationFactors factors;
  std::string note;  // the number of runs, and their mean error without and with the factors
};

// The calibration by question.calibration_runs; null: the question has none. `table`: the fitted
// constants that it corrects. InputError: a malformed file, or a run that its layout excludes.
std::shared_ptr<const TrainingCalibration> training_calibration(Facts& facts,
                                                                const TrainingQuestion& question,
                                                                const TrainingSetting& setting,
                                                                const ConstantTable& table);

}  // namespace orrery
