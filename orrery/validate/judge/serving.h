// `orrery validate serving`: simulated services against measured ones.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/validate/report/constants_choice.h"
#include "orrery/validate/report/report.h"
#include "orrery/validate/rows/inference_rows.h"

namespace orrery {

// `dir` is data/inference, or a folder of runs as in data/inference/request_level. `table` is
// serving_steady, serving_rate, request_level or the name of one run; empty: all. Absent tables are
// noted as skipped; a folder with none of them is an InputError.
//
// Rows of serving_steady (closed loops) are predicted by constants that were fitted without their
// group (service_folds.h), or by the committed ones, those of the bundle. They and rows of
// serving_rate are simulated as their scenarios say (inference_rows.h). The runs of request_level
// are simulated with their own arrivals (the times at which the engine queued the requests),
// lengths and engine settings. A row of a run is the mean or P99 of TTFT, TPOT or E2E latency, or
// the number of KV blocks.
ValidationReport validate_serving(const std::filesystem::path& dir, const std::string& table,
                                  const Bundle& bundle,
                                  ConstantsChoice constants = ConstantsChoice::kLeftOut);

// The same for rows that were already read; the report has no note.
ValidationReport predicted_services(const std::vector<MeasuredRow>& rows, const Bundle& bundle,
                                    ConstantsChoice constants);

}  // namespace orrery
