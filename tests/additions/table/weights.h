// `orrery validate weights`: the weights on a GPU that an engine logs when it starts.
#pragma once

#include <filesystem>

#include "orrery/base/bundle.h"
#include "orrery/validate/report/report.h"

namespace orrery {

// `dir` holds weights.csv: model, gpu, tp, weights_gib (of one GPU).
ValidationReport validate_weights(const std::filesystem::path& dir, const Bundle& bundle);

}  // namespace orrery
