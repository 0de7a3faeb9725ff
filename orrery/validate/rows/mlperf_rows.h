// Reads rows of training/mlperf_training.csv as the jobs that were run. The configuration of the
// submitter states the layout. Rows without a configuration, on GPUs that the catalog lacks, or
// without a steady step are refused with the reason.
#pragma once

#include <filesystem>
#include <vector>

#include "orrery/validate/rows/training_rows.h"

namespace orrery {

// All rows, in their order. `source` is mlperf for all, because most submitters run NVIDIA's or
// AMD's code. `reference` is round, submitter and system.
std::vector<TrainingRow> read_mlperf_rows(const std::filesystem::path& dir, const Catalog& catalog,
                                          const Bundle& bundle = Bundle());

}  // namespace orrery
