#include "orrery/scenario/fleet/gpu_work.h"

#include <algorithm>
#include <cmath>

#include "orrery/base/dtype.h"
#include "orrery/model/architecture/parameters.h"

namespace orrery {

GpuWork::GpuWork(const Architecture& model, const ParallelPlan& plan, const Precision& precision,
                 const MemoryModel& memory, const Gpu& gpu, std::int64_t block_size) {
  const ParameterCounts parameters = count_parameters(model);
  const Flops work(2 * static_cast<double>(parameters.active()) / plan.devices());
  token_ = work / gpu.peak(gpu.compute_dtype(properties(precision.weights).arithmetic));
  weights_ = memory.load(0, 0).weights / gpu.memory.bandwidth;
  tokens_a_block_ = static_cast<double>(block_size);
  cached_ = memory.kv_block() / gpu.memory.bandwidth / tokens_a_block_;
  idle_ = static_cast<double>(parameters.layers - parameters.layers_active) /
          static_cast<double>(parameters.total());
  for (const LayerSpec& layer : model.layers.specs()) {
    if (const auto* moe = std::get_if<MoeMlp>(&layer.mlp))
      missed_ = 1 - static_cast<double>(moe->top_k) / moe->experts;
  }
}

GpuWork::GpuWork(const ServedModel& s)
    : GpuWork(s.model, s.plan, s.deployment.precision, *s.memory, s.deployment.gpu,
              s.deployment.engine.memory.block_size) {}

Seconds GpuWork::arithmetic(const ReplicaCounts& sum) const {
  return static_cast<double>(sum.prompt_tokens + sum.output_tokens) * token_;
}

Seconds GpuWork::traffic(const ReplicaCounts& sum) const {
  const double busy = sum.busy.value();
  if (busy <= 0 || sum.steps == 0) return Seconds(0);
  const auto steps = static_cast<double>(sum.steps);
  const double tokens = static_cast<double>(sum.prompt_tokens + sum.output_tokens) / steps;
  const double read = 1 - idle_ * std::pow(missed_, std::max(0.0, tokens - 1));
  const double held = sum.used_block_seconds * tokens_a_block_ - sum.slack_token_seconds;
  return steps * (read * weights_ + std::max(0.0, held / busy) * cached_);
}

}  // namespace orrery
