// `orrery validate energy --table mlperf`: servers at the wall (mlperf_power_rows.h).
//
//   wall power in the measured time    boards by the law of steps in the time that was measured,
//                                      and the rest of the server and its supplies by Plant, whose
//                                      laws leave the judged server out
//   wall power                         the same in the predicted time
//   time of a request                  from the scenario alone, of the server
//   time under a cap                   over the time without it, from the scenario alone
//
// In the measured time the power of a board is at most its cap.
#pragma once

#include <filesystem>

#include "orrery/base/bundle.h"
#include "orrery/validate/report/report.h"

namespace orrery {

// Adds the rows of `dir`/mlperf_power.csv to the report.
void judge_mlperf(const std::filesystem::path& dir, const Bundle& bundle, ValidationReport& report);

}  // namespace orrery
