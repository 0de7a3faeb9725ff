// `orrery validate steps`: the step model against measured decode steps of running services,
// without a scheduler.
#pragma once

#include <filesystem>
#include <string>

#include "orrery/base/bundle.h"
#include "orrery/validate/report/report.h"

namespace orrery {

// `dir` holds runs as in data/inference/request_level, each a folder with config.json,
// requests.csv.gz and timeseries.csv.gz. `table` names the only run; empty: all.
//
// A row is one second of a run. No prompt was computed in it or in the second before, and no
// request began or ended. All its steps therefore decoded the same `running` sequences, and each
// took running / gen_throughput seconds. A second holds a whole number of steps, so that the
// measured time of a row is exact to one step. The predicted step has the mean context of the
// requests that run in the middle of the second; the tokens of a request grow evenly between its
// first and last. No parameter is fitted to these rows.
ValidationReport validate_steps(const std::filesystem::path& dir, const std::string& table,
                                const Bundle& bundle);

}  // namespace orrery
