// A user's own measured iterations, from a CSV file:
//
//   gpus,tp,global_batch,iteration_time
//   64,1,256,3.91
//   64,8,256,4.85
//
// A column is any key of `training` (or its alias), read as a scenario file reads it; what has no
// column is as the question says. `model` may be one too. `iteration_time` is in seconds;
// `throughput`, tokens/s of the whole job, may stand in its place.
#pragma once

#include <string>
#include <vector>

#include "orrery/scenario/question/training_question.h"

namespace orrery {

struct OwnRun {
  std::string place;  // "runs.csv:2"
  std::string model;  // empty: the question's
  TrainingQuestion question;
  TrainingJob job;
  Seconds time;
};

// InputError with file and line: unknown columns, no time, no rows, a row of several layouts.
std::vector<OwnRun> read_own_runs(const std::string& file, const TrainingQuestion& question);

}  // namespace orrery
