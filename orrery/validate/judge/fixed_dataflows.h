// Models of fixed dataflows against recorded results of SCALE-Sim (systolic arrays).
#pragma once

#include <filesystem>
#include <string>

#include "orrery/validate/report/report.h"

namespace orrery {

// Adds the rows of scalesim_systolic.csv in `dir`, a metric for each column of the results, unless
// `table` names another table. The reads' bandwidth is the tool's default of 10 words a cycle,
// since the table's bandwidth is that of the results' memory only. A figure of which both are zero,
// such as the stalls of a run without stalls, is no row.
void judge_fixed_dataflows(const std::filesystem::path& dir, const std::string& table,
                           ValidationReport& report);

}  // namespace orrery
