// Constants of serving engines that were fitted without one group of rows: a model on a system.
//
// A row that takes part in a fit is no judge of it. `orrery fit services` therefore fits the
// constants of each engine and class of GPUs once more without each group, and writes all of them
// to catalog/engines/folds/<engine>-<gpu class>.yaml, the text of each group (joined_texts):
//
//   --- # qwen3-32b on h200-sxm
//   execution:
//     host_per_step: 500 us
//   ...
//
// `orrery validate serving` predicts the rows of a group with these constants, and with the errors
// that the other groups ask for.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "orrery/base/bundle.h"
#include "orrery/validate/rows/inference_rows.h"

namespace orrery {

// The group that a row is left out with, "qwen3-32b on h200-sxm".
std::string service_fold_of(const MeasuredRow& row);

// `bundle` with the constants of `engine` on GPUs of class `gpu_class` that were fitted without
// `fold`. Nothing if the fit has no such group: then the constants of `bundle` did not see it.
std::optional<Bundle> bundle_without(const Bundle& bundle, const std::string& engine,
                                     const std::string& gpu_class, const std::string& fold);

}  // namespace orrery
