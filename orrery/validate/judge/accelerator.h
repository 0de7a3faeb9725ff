// `orrery validate accelerator`: models of custom chips against recorded results of public tools.
#pragma once

#include <filesystem>
#include <string>

#include "orrery/base/bundle.h"
#include "orrery/validate/report/report.h"

namespace orrery {

// Evaluates the cases of the tables in `dir`, or of the one named by `table`:
//
//   timeloop_cases    metric counts: the access counts of a case against those that equal the
//                     record (within 1e-6), so that a case of which all are right has no error;
//                     metric cycles; metric energy_pj
//   timeloop_sparse_cases  the same metrics of sparse designs; a count is right within one access
//                     or 1 %. The energy leaves out metadata
//   timeloop_refused  metric refused: 1 for a mapping that Timeloop refuses, against 1 if it is
//                     refused here for the same class of reason, else 0
//   scalesim_systolic, maestro_layers  a metric for each column of the results
//                     (fixed_dataflows.h)
//   llmcompass_measured
//                     operators and layers on A100 and MI210, metric latency_s; metric
//                     sum_of_parts_s: a layer, of those of its parts that the table has; metric
//                     area_mm2 (chips/llmcompass.h)
//   optimal_mappings  whole mappings of AccelForge: energy, latency, actions, fits
//                     (chips/looptree.h)
//
// Nothing is fitted: intervals have no width.
ValidationReport validate_accelerator(const std::filesystem::path& dir, const std::string& table,
                                      const Bundle& bundle);

}  // namespace orrery
