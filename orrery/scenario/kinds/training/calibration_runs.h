// Iterations that a user measured, from a CSV file. They correct the stack's fitted constants:
//
//   gpus,tp,global_batch,iteration_time
//   64,1,256,3.91
//   64,8,256,4.85
//
// A column is any key of `training` (or its alias), read as a scenario file reads it; what has no
// column is as the question says, at a point of a sweep as the point says. `model` may be a column
// too. `iteration_time` is in seconds; `throughput`, tokens/s of the whole job, is taken in its
// place.
#pragma once

#include <string>
#include <vector>

#include "orrery/scenario/kinds/training/training_question.h"

namespace orrery {

struct CalibrationRun {
  std::string place;  // "runs.csv:2"
  std::string model;  // empty: the question's
  TrainingQuestion question;
  TrainingJob job;
  Seconds time;
};

// InputError with file and line: unknown columns, no time, no rows, a row of an invalid layout.
std::vector<CalibrationRun> read_calibration_runs(const std::string& file,
                                                  const TrainingQuestion& question);

}  // namespace orrery
