#include "orrery/planner/runs/run_bound.h"

#include <algorithm>

#include "orrery/workload/training/training_program.h"

namespace orrery {

Seconds least_iteration(const Architecture& model, const Gpu& gpu, const TrainingJob& job,
                        std::int64_t gpus) {
  const double tokens = static_cast<double>(job.global_batch) * static_cast<double>(job.seq);
  const Flops all(model_flops_per_token(model, job) * tokens);
  const FlopsPerSecond peak = std::max(gpu.peak(gpu.compute_dtype(job.precision.compute)),
                                       gpu.peak(gpu.compute_dtype(job.precision.activations)));
  return all / (static_cast<double>(gpus) * peak);
}

}  // namespace orrery
