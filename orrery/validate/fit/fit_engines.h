// `orrery fit engines`: fits the host constants and kernel factors of each engine profile to
// measured requests and batches.
//
// Each profile with enough rows is fitted by itself. The fit minimises the mean absolute
// logarithmic error of all figures; an error above 50 % counts less than in proportion
// (log_tailed, base/fit.h). A weak pull towards the profile's own values keeps constants in place
// that the rows do not determine. Only rows of groups for which fits_engines() holds are read; the
// other groups judge. The result is the same in every run.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "orrery/base/bundle.h"

namespace orrery {

struct FittedEngine {
  std::string engine;
  std::string yaml;                          // text of catalog/engines/fitted/<engine>.yaml
  std::size_t rows = 0;                      // number of fitted figures
  double error_before = 0, error_after = 0;  // median absolute error on them, percent
  std::string skipped;                       // why nothing was fitted; empty otherwise
};

// Fits every engine profile that has rows in `dir` (data/inference); one entry for each. `date` is
// written into the recipe.
std::vector<FittedEngine> fit_engines(const std::filesystem::path& dir, const std::string& date,
                                      const Bundle& bundle);

}  // namespace orrery
