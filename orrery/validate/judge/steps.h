// `orrery validate steps`: the second link, decode steps of a running service against the step
// model, without any scheduler between.
#pragma once

#include <filesystem>
#include <string>

#include "orrery/base/bundle.h"
#include "orrery/validate/report/report.h"

namespace orrery {

// `dir`: runs as in data/inference/request_level, each a folder with config.json, requests.csv.gz
// and timeseries.csv.gz; `table` names one of them. A row is one second of a run in which no
// prompt was computed, neither in the second before, and no request came or went: every step of it
// decoded the same `running` sequences, so one took running / gen_throughput seconds. The measured
// time is a whole number of steps a second, so single rows are sharp to a step in that second only.
// The context is the mean over the requests that run in the middle of the second (their tokens
// grow evenly between the first and the last). Nothing of these rows fits anything.
ValidationReport validate_steps(const std::filesystem::path& dir, const std::string& table,
                                const Bundle& bundle);

}  // namespace orrery
