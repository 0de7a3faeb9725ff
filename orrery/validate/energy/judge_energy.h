// `orrery validate energy`: power against readings of boards and servers.
//
//   table kernel_power                  calls of left-out shapes in the time that was measured
//   table kernel_power, GPU left out    all calls, by constants fitted on the other GPUs alone
//   table llm_energy                    services, by constants fitted without their model's rows
//   table mlperf                        servers at the wall (judge_mlperf.h)
//
// Steady calls are judged by "power of steady calls" and, as the mean clock of the multiprocessors
// is read too, by "clock of steady calls": the reference clock of clock_power.h in the measured
// time. No constant is fitted on clocks, and no interval is stated of them.
//
// The other metrics are "power of long calls" (0.1 ms and more), whose readings are mostly their
// own, and "power of short calls", which hold much of what ran before (kernel_power_rows.h).
#pragma once

#include <filesystem>
#include <string>

#include "orrery/base/bundle.h"
#include "orrery/validate/report/report.h"

namespace orrery {

// `dir` is the folder of measured energy tables. `table`: the only table wanted; empty: all.
// InputError: another table.
ValidationReport validate_energy(const std::filesystem::path& dir, const std::string& table,
                                 const Bundle& bundle);

}  // namespace orrery
