// `orrery fit services`: what today's engines take besides their kernels, on GPUs of one class,
// from measured closed loops (data/inference/serving_steady.csv).
//
// At most six constants for each engine and GPU class (engine_gpu_class), found by the least mean
// absolute logarithmic error of TPOT and TTFT (of less weight), each (model, system) counting as
// the square root of its rows, with a weak pull towards what the profile has. Only rows of groups
// that `fits_engines` are used; at most kMostRows of a class, spread evenly.
//
// TTFT needs the simulation, which is slow, and the closed form is fast: a row's prediction is the
// closed form's, times what the simulation differed by at the last constants. Simulated again and
// fitted again, kRounds times.
//
// A class of which only one model on one system was measured is not fitted: what is a model's own
// and what the engine's could not be told apart. It takes the host's constants (launch,
// host_per_moe_layer) of the engine's other class; the fit of a second class starts from them.
//
// The errors reported are those of every (model, system) left out: fitted on the others, judged on
// it (where the others are rows enough to be fitted at all). From them come also the errors that a
// profile declares: `step_error` is the least that puts 90 % of the TPOTs of models without experts
// into their 90 % intervals beside the errors of kernels and collectives, `experts_error` then the
// least for those with experts. With fewer than six rows of models without experts `step_error` is
// that of all, and stands for both.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/bundle.h"

namespace orrery {

struct FittedServices {
  std::string engine, gpu_class;
  std::string yaml;      // text of catalog/engines/fitted/<engine>-<gpu class>.yaml
  std::size_t rows = 0;  // fitted on
  double tpot_before = 0, tpot_after = 0, tpot_left_out = 0;  // median absolute errors, percent
  double ttft_before = 0, ttft_after = 0, ttft_left_out = 0;
  std::optional<double> step_error, experts_error;
  std::string skipped;  // why nothing was fitted; empty otherwise
};

// `dir`: data/inference. `date` is written into the recipe.
std::vector<FittedServices> fit_services(const std::filesystem::path& dir, const std::string& date,
                                         const Bundle& bundle);

}  // namespace orrery
