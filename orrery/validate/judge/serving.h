// `orrery validate serving`: whole services, request by request, against the serving simulation.
#pragma once

#include <filesystem>
#include <string>

#include "orrery/base/bundle.h"
#include "orrery/validate/report/report.h"

namespace orrery {

// `dir`: runs as in data/inference/request_level, or data/inference itself; `table` names one run.
// Each run is simulated with its own arrivals (when the engine queued them), lengths and engine
// settings; nothing is matched by hand. A row is one figure of a run: mean and P99 of TTFT, TPOT
// and E2E, and the number of KV blocks.
ValidationReport validate_serving(const std::filesystem::path& dir, const std::string& table,
                                  const Bundle& bundle);

}  // namespace orrery
