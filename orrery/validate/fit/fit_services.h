// `orrery fit services`: fits the constants of serving engines that its kernels do not explain, for
// each engine and class of GPUs (GpuArchitecture::engine_class), to measured closed loops
// (data/inference/serving_steady.csv).
//
// Loss. At most seven constants minimise the mean absolute logarithmic error of TPOT and TTFT; TTFT
// weighs less. The rows of one model on one system weigh as the square root of their number. A
// pull holds each constant near its start. Rows of all groups are read, since each group is judged
// by a fit without it; at most 48 rows of a class, in equal shares of its models and systems.
//
// Simulation. TTFT needs the simulation, which is slow; the closed form is fast. A row's prediction
// is the closed form multiplied by the ratio of simulation to closed form at the last constants.
// Simulation and fit are repeated twice.
//
// Classes. If a class of an engine has fewer than three groups of models with experts, all of its
// classes are fitted together, with the same host constants (launch, host_per_moe_layer): the host
// does not depend on the GPU, and few models do not separate the constants of experts and of
// operators. Otherwise each class is fitted by itself, and the fit of a second class starts from
// the host constants of the first. Without three models and systems nothing is fitted, because the
// constants of a model and of the engine could not be separated. Such a class takes the host
// constants of the other.
//
// A constant is varied only if three groups determine it: models with experts the host time of
// experts, groups of any class the other host times, groups of a class the rest. Otherwise it keeps
// its start, because constants that few groups determine extrapolate badly.
//
// Errors are those of left-out rows: each (model, system) is predicted by a fit on the others.
// `step_error`, `experts_error` and `ttft_error` are found from them (service_errors.h), the last
// from the rows of all classes of the engine. Rows that contradict what else is known of their
// system are not fitted (service_trust.h), but first tokens' errors are asked of up to 24 of them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/base/part_meter.h"
#include "orrery/validate/fit/service_errors.h"

namespace orrery {

struct FittedServices {
  std::string engine, gpu_class;
  std::string yaml;  // text of catalog/engines/fitted/<engine>-<gpu class>.yaml
  // Text of catalog/engines/folds/<engine>-<gpu class>.yaml: the same constants and errors, fitted
  // without one model and system at a time (service_folds.h).
  std::string folds;
  std::size_t rows = 0;                                       // number of fitted rows
  double tpot_before = 0, tpot_after = 0, tpot_left_out = 0;  // median absolute errors, percent
  double ttft_before = 0, ttft_after = 0, ttft_left_out = 0;
  ServiceErrors errors;
  std::string skipped;  // why nothing was fitted; empty otherwise
};

// Fits every engine and class of GPUs that has rows in `dir` (data/inference), or `engine` alone if
// it is not empty. `date` is written into the recipe. A class of an engine is a part of
// `meter`, which may be null. Throws InputError for an unknown engine.
std::vector<FittedServices> fit_services(const std::filesystem::path& dir, const std::string& date,
                                         const Bundle& bundle, const std::string& engine = "",
                                         PartMeter* meter = nullptr);

}  // namespace orrery
