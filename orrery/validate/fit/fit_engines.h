// `orrery fit engines`: fits the host constants and kernel factors of each engine profile to
// measured requests and batches (engine_fit.h).
//
// Constants. Each profile with enough rows is fitted by itself, to the rows of all groups. GPUs of
// a family (engine_gpu_family) with at least three groups and 20 figures get constants of their
// own, pulled towards those of the engine: libraries of another generation of GPUs reach another
// share of their peaks.
//
// Errors are those of left-out rows. Each group is predicted by constants fitted without it, and
// each family by constants fitted without the whole family. `step_error` is the smallest error of a
// step that puts 90 % of the left-out figures into their 90 % intervals, in addition to the errors
// of kernels and collectives. If these alone hold more, `composed_error_share` narrows them.
// `unfitted_error` is the step_error of left-out families, and holds on GPUs of families that no
// row is of. The constants without each group, with the errors that the other groups ask for, are
// kept for judging (engine_folds.h).
//
// The result is the same in every run.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/base/part_meter.h"

namespace orrery {

struct FittedEngine {
  std::string engine;
  std::string yaml;                             // text of catalog/engines/fitted/<engine>.yaml
  std::map<std::string, std::string> families;  // by family: text of .../<engine>-<family>.yaml
  std::string folds;                            // text of catalog/engines/group-folds/<engine>.yaml
  std::size_t rows = 0;                         // number of fitted figures
  std::size_t groups = 0;
  // Median absolute errors of the figures, percent; left out: predicted without their group.
  double error_before = 0, error_after = 0, error_left_out = 0;
  std::string skipped;  // why nothing was fitted; empty otherwise
};

// Fits every engine profile that has rows in `dir` (data/inference), or `only` if that is not
// empty; one entry for each. `date` is written into the recipe. A measured figure is
// a part of `meter`, which may be null.
std::vector<FittedEngine> fit_engines(const std::filesystem::path& dir, const std::string& date,
                                      const Bundle& bundle, const std::string& only = "",
                                      PartMeter* meter = nullptr);

}  // namespace orrery
