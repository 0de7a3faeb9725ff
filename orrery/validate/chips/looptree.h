// Mappings that AccelForge proved optimal, counted by the convention looptree.
#pragma once

#include <filesystem>

#include "orrery/base/bundle.h"
#include "orrery/validate/report/report.h"

namespace orrery {

// Adds the rows of table optimal_mappings. The chip and the workload are those of the catalog
// (accelerators/hierarchies, accelerators/workloads) whose names or aliases the label of a record
// has. Metrics: energy (joules), latency (seconds); actions: the access counts of a record against
// those that equal ours; fits: 1 against 1 where no memory and no axis is overfilled, else 0.
void judge_optimal_mappings(const std::filesystem::path& file, const Bundle& bundle,
                            ValidationReport& report);

}  // namespace orrery
