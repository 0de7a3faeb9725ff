// Latencies of architectures of two search spaces: the table cnn_nas.csv.gz of the measured edge
// tables, from HELP (docs/data.md).
//
// A run is a column of the table: a device and a batch. Networks are what the architecture strings
// name (edge/graph/nas_spaces.h), as PyTorch executes them, node by node. The columns that HELP
// took from HW-NAS-Bench were measured with TFLite, whose converter leaves zeros out.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "orrery/validate/edge/ncnn_rows.h"

namespace orrery {

struct NasSpace {
  std::string name;  // "nasbench201", "fbnet"
  std::vector<EdgeRun> runs;
};

// The runs of both spaces. Rows of networks that compute nothing are counted in `report`.
std::vector<NasSpace> read_nas_runs(const std::filesystem::path& dir, ValidationReport& report);

}  // namespace orrery
