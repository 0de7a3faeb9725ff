// `orrery validate inference`: answers of the closed forms against measured single requests, static
// batches and closed loops.
#pragma once

#include <filesystem>
#include <string>

#include "orrery/base/bundle.h"
#include "orrery/validate/report/constants_choice.h"
#include "orrery/validate/report/report.h"

namespace orrery {

// Predicts the rows of the tables single_request, offline_throughput and serving_steady in `dir`,
// or of the one named by `table`, that are not marked as suspect. Absent tables are noted as
// skipped; a folder with none of them is an InputError. Rows of single_request and
// offline_throughput are predicted by constants that were fitted without their group
// (engine_folds.h). `by` of a row holds `fitted`: left out if so, yes if the row's group may have
// fitted the engine's constants (inference_rows.h), no if it never did. With committed constants
// every row is predicted by those of the bundle.
ValidationReport validate_inference(const std::filesystem::path& dir, const std::string& table,
                                    const Bundle& bundle,
                                    ConstantsChoice constants = ConstantsChoice::kLeftOut);

}  // namespace orrery
