// Reads the log of a training job, for comparison with a prediction. Three formats are recognised
// by their lines:
//
//   Megatron    " iteration  10/ 100 | ... elapsed time per iteration (ms): 1234.5 | ... throughput
//                per GPU (TFLOP/s/GPU): 412.3 | ..."
//   NeMo        "... iteration 5/99 | ... | train_step_timing in s: 3.21 ..."
//   torchtitan  "step: 10  loss: 7.1  memory: 40.10GiB(50.1%)  tps: 5,012  tflops: 300.1  mfu: ..."
//
// All other lines and the escape sequences of colours are ignored. The first tenth of the printed
// steps, and at least one step if there are several, is left out: these steps compile and warm up.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/scenario/measured/compared_figure.h"

namespace orrery {

struct TrainingLog {
  std::string tool;                          // "Megatron", "NeMo" or "torchtitan"
  std::int64_t steps = 0;                    // steps of which the medians below are taken
  std::optional<std::int64_t> global_batch;  // sequences of a step, if the log states it
  // Medians over the steps; absent if the log does not print the figure.
  std::optional<double> iteration_s;           // seconds
  std::optional<double> tokens_per_s_per_gpu;  // tokens/s
  std::optional<double> tflops_per_gpu;        // TFLOP/s
  std::optional<double> memory_gb;             // GB, as torchtitan prints it
};

// InputError: the file cannot be read, or has no line of these formats.
TrainingLog read_training_log(const std::filesystem::path& file);
// The same from a text; `name` is what messages call it.
TrainingLog parse_training_log(std::string_view text, const std::string& name);

// The figures that both the log and the predicted point have.
std::vector<ComparedFigure> compare(const TrainingLog& log, const Point& point);

}  // namespace orrery
