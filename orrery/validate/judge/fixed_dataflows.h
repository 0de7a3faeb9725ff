// Models of fixed dataflows against recorded results of SCALE-Sim (systolic arrays) and MAESTRO
// (directives).
#pragma once

#include <filesystem>
#include <string>

#include "orrery/validate/report/report.h"

namespace orrery {

// Adds the rows of the tables in `dir`, or of the one that `table` names: a metric for each column
// of the results.
//
// scalesim_systolic. The reads' bandwidth is 10 words a cycle, the default in the tool's
// scale_config.py, since the table's bandwidth is that of the results' memory only. A figure of
// which both are zero, such as the stalls of a run without stalls, is no row.
//
// maestro_layers. The metric energy_of_accesses_nj compares energies of the recorded and of the
// predicted accesses. The tool's own figure (activity_count_based_energy_nj) has, for a dataflow
// with clusters, the L1 accesses of the layer before it in the file: it is judged where that layer
// is the row before. The machine is that of the records: a network of 1000 and an off-chip memory
// of 50 elements a cycle.
void judge_fixed_dataflows(const std::filesystem::path& dir, const std::string& table,
                           ValidationReport& report);

}  // namespace orrery
