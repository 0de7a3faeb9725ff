// `orrery validate edge --table nas`: architectures of NAS-Bench-201 and FBNet on the devices of
// HELP (nas_rows.h), by HELP's protocol: ten architectures are measured on a device that the law
// has not seen at any batch, and all others are predicted.
//
// The law of a space is fitted on some architectures of every other device. The ten are chosen by
// the hash of their names, and so are the rows of each column that the report has: a tenth. The
// remarks have the rank correlations over all rows of a column.
#pragma once

#include <filesystem>

#include "orrery/validate/report/report.h"

namespace orrery {

// Adds rows and remarks to `report`. A folder without the table is noted there.
void judge_nas(const std::filesystem::path& dir, ValidationReport& report);

// The rank correlation of Spearman, with the mean rank for ties. NaN for fewer than two pairs, or
// equal values on one side.
double rank_correlation(const std::vector<std::pair<double, double>>& pairs);

}  // namespace orrery
