// From a row of training/mlperf_training.csv to the job that was run: a submitter's
// configuration says how it was split. Rows without it, on other than the catalog's GPUs, or
// without a steady step, are refused with the reason.
#pragma once

#include <filesystem>
#include <vector>

#include "orrery/validate/rows/training_rows.h"

namespace orrery {

// Every row, in their order. `source` is mlperf for all: most submitters run NVIDIA's or AMD's
// code. `reference`: round, submitter and system.
std::vector<TrainingRow> read_mlperf_rows(const std::filesystem::path& dir, const Catalog& catalog,
                                          const Bundle& bundle = Bundle());

}  // namespace orrery
