// What a training job printed: the log of Megatron-LM or NeMo, or of torchtitan, beside a
// prediction.
//
//   Megatron    " iteration  10/ 100 | ... elapsed time per iteration (ms): 1234.5 | ... throughput
//                per GPU (TFLOP/s/GPU): 412.3 | ..."
//   NeMo        "... iteration 5/99 | ... | train_step_timing in s: 3.21 ..."
//   torchtitan  "step: 10  loss: 7.1  memory: 40.10GiB(50.1%)  tps: 5,012  tflops: 300.1
//   mfu: 30.5%"
// Lines of other kinds, and colours, are passed over. The first steps (compilation, warm-up) do not
// count: a tenth of those printed, at least one where there are several.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/scenario/answer/answer.h"

namespace orrery {

struct TrainingLog {
  std::string tool;                          // "Megatron", "NeMo", "torchtitan"
  std::int64_t steps = 0;                    // that count
  std::optional<std::int64_t> global_batch;  // sequences of a step, where it is printed
  // Medians over the steps.
  std::optional<double> iteration_s, tokens_per_s_per_gpu, tflops_per_gpu, memory_gb;
};

// InputError: the file cannot be read, or has no line of these kinds.
TrainingLog read_training_log(const std::filesystem::path& file);
TrainingLog parse_training_log(std::string_view text, const std::string& name);

// One figure that both have.
struct LoggedFigure {
  std::string name;
  double measured = 0;
  Metric predicted;
  double difference() const { return 100 * (predicted.value / measured - 1); }
  bool within() const { return predicted.low90 <= measured && measured <= predicted.high90; }
};
std::vector<LoggedFigure> compare(const TrainingLog& log, const Point& point);

}  // namespace orrery
