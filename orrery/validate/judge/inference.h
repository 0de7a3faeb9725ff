// `orrery validate inference`: whole answers against measured single requests and batches.
#pragma once

#include <filesystem>
#include <string>

#include "orrery/base/bundle.h"
#include "orrery/validate/report/report.h"

namespace orrery {

// Predicts every row of the tables single_request, offline_throughput and serving_steady in `dir`
// (or of the one named by `table`) that is not marked suspect. A table that is absent is left out;
// a folder without any is an InputError. Rows carry `fitted: yes` if their group may have fitted
// the engine's constants (inference_rows.h), `no` if it never did.
ValidationReport validate_inference(const std::filesystem::path& dir, const std::string& table,
                                    const Bundle& bundle);

}  // namespace orrery
