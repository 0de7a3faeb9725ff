// `orrery fit expert-load`: the skew of expert loads that measured services show, with its
// interval.
//
// Tokens are spread over experts by a power law of exponent `workload.expert_skew`. The exponent is
// a property of models and texts, which no table states. Closed loops of models with experts
// (data/inference/serving_steady.csv) show it in their TPOTs: balanced loads wake more experts with
// few users, and no expert waits for the busiest one with many.
//
// Loss. The mean absolute logarithmic error of TPOT in closed form, by the constants of the
// catalog, over at most six rows of each model on each system, which weigh as one. The exponent is
// searched on a grid and by a parabola through the least three.
//
// Nested. The exponent is fitted once more without each group, a model on a system, and these fits
// predict the group's rows. The 90 % interval is that of 400 draws of groups with replacement.
// Uneven loads are measured in the kernel sweeps at two exponents only, so that the loss is flat
// where the kernels are interpolated.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>

#include "orrery/base/bundle.h"

namespace orrery {

struct FittedExpertLoad {
  double skew = 0, low90 = 0, high90 = 0;
  std::map<std::string, double> without;  // the exponent fitted without a group
  std::size_t rows = 0;
  // Median absolute errors of TPOT in percent: with balanced loads, at `skew`, and at the exponent
  // that was fitted without the row's group.
  double balanced = 0, fitted = 0, left_out = 0;
  // Median change of TPOT from low90 to high90, percent.
  double across_interval = 0;
  std::string yaml;  // text of catalog/validation/expert-load.yaml
};

// Fits the rows of `dir` (data/inference). `date` is written into the recipe. InputError: fewer
// than three groups of models with experts.
FittedExpertLoad fit_expert_load(const std::filesystem::path& dir, const std::string& date,
                                 const Bundle& bundle);

}  // namespace orrery
