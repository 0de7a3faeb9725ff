// `orrery fit engines`: the constants of the host model and the kernel factors of each engine
// profile, from measured requests and batches.
//
// For every profile with enough rows the constants that the rows can tell apart are found by
// minimising the mean absolute logarithmic error (Huber beyond 50 %) of all figures, with a weak
// pull towards the profile's own values so that what the rows do not determine stays put. Only rows
// of groups that `fits_engines` are used; the others judge (they are never looked at here).
// Derivative-free and deterministic (NLopt, Subplex).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "orrery/base/bundle.h"

namespace orrery {

struct FittedEngine {
  std::string engine;
  std::string yaml;                          // text of catalog/engines/fitted/<engine>.yaml
  std::size_t rows = 0;                      // figures fitted on
  double error_before = 0, error_after = 0;  // median absolute error on them, percent
  std::string skipped;                       // why nothing was fitted; empty otherwise
};

// `dir`: data/inference. `date` is written into the recipe. One entry for each engine profile that
// has rows.
std::vector<FittedEngine> fit_engines(const std::filesystem::path& dir, const std::string& date,
                                      const Bundle& bundle);

}  // namespace orrery
