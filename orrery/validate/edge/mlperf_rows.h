// Networks by MLPerf inference's published results: the table mlperf_edge.csv of the measured edge
// tables (docs/data.md).
//
// A run is a network on an accelerator of catalog/gpus, or on the cores of the host where there is
// none. Single-stream rows have the time of one input; offline rows the rate of a batch. Rows of
// datacenter systems are offline rows of the same engines. Left out, with a count: benchmarks whose
// network is not bundled, accelerators without sourced facts, power-saving modes, offline BERT with
// TensorRT, which computes no padding.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/edge/engine/engine_ops.h"
#include "orrery/validate/report/report.h"

namespace orrery {

struct MlperfRow {
  std::string benchmark, network;  // "resnet50", "resnet50-v1.5"
  std::string gpu;                 // id of catalog/gpus; empty: the cores of `device`
  std::string device;              // id of catalog/edge/devices.yaml, where no GPU computes
  std::string engine;              // "tensorrt"
  EnginePrecision precision = EnginePrecision::kFloat;
  bool single = false;  // one input; otherwise batches of kOfflineBatch on each accelerator
  Seconds time;         // of an input
  std::string name, system, submitter;
};

// The batch of an offline row, which the table does not state. NVIDIA's public configurations
// (github.com/mlcommons/inference_results_v4.1, closed/NVIDIA/configs) have 8 to 2048.
inline constexpr int kOfflineBatch = 32;

std::vector<MlperfRow> read_mlperf_rows(const std::filesystem::path& dir, ValidationReport& report);

}  // namespace orrery
