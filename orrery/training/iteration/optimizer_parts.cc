// The step of the optimizer on a stage: IterationModel::add_optimizer.
#include <algorithm>
#include <cmath>

#include "orrery/training/iteration/iteration_parts.h"

namespace orrery {
namespace {

// Memory bandwidth of an Adam step on the host: one GPU's share of a server with two sockets and 8
// GPUs. A socket has 8 channels of DDR4-3200 (204.8 GB/s) or DDR5-4800 (307 GB/s) by its
// specification, so the server has 400 to 600 GB/s.
constexpr BytesPerSecond kHostMemory = BytesPerSecond(50e9);

// Parameters of a piece of an Adam step on the host. DeepSpeed's CPU Adam copies a piece back
// during the step of the next one (TILE in csrc/includes/cpu_adam.h).
constexpr double kHostTile = 128 << 20;

}  // namespace

// If the catalog has none, that of PCIe 4.0 x16: 31.5 GB/s by its specification, of which copies
// reach about 25 GB/s.
BytesPerSecond host_link(const Gpu& gpu) {
  return gpu.host_link.bandwidth.value_or(BytesPerSecond(25e9));
}

void IterationModel::add_optimizer(StageParts& out, const TrainingJob& job, double owned,
                                   double products) const {
  const Bytes gradient = bytes_per_element(job.precision.gradients);
  const Bytes weight =
      job.precision.fp8_parameters ? Bytes(1) : bytes_per_element(job.precision.activations);
  const auto parameters = static_cast<std::int64_t>(std::max(1.0, owned));
  const TrainingPrecision& f = job.precision;
  OptimizerStep step =
      adam_step(parameters, f.activations, f.gradients,
                f.master_weights ? std::optional(Dtype::kFp32) : std::nullopt, f.moments);
  const Bytes moment = bytes_per_element(f.moments);
  if (job.optimizer == Optimizer::kSgd || job.optimizer == Optimizer::kMuon)
    step.read -= moment, step.written -= moment;  // one moment
  if (job.optimizer == Optimizer::kAdafactor)
    step.read -= 2 * moment, step.written -= 2 * moment;  // rows and columns alone
  // The norm of the gradients reads them once more.
  const OptimizerStep norm{parameters, gradient, Bytes(0)};
  const Seconds kernel = kernels_.predict(step).time.value;
  // fp16 gradients are divided by the scale of the loss and checked for overflow, in place.
  Seconds scaling;
  if (f.compute == Dtype::kFp16)
    scaling = kernels_.predict(OptimizerStep{parameters, gradient, gradient}).time.value;
  if (job.offload_optimizer) {
    const BytesPerSecond link = host_link(cluster_.gpu());
    out.to_host = owned * gradient / link;
    out.host_step = owned * (step.read + step.written) / kHostMemory;
    out.from_host = owned * weight / link;
    out.host_pieces = static_cast<int>(std::ceil(std::max(1.0, owned) / kHostTile));
    out.optimizer = scaling + kernels_.predict(norm).time.value;
    return;
  }
  out.optimizer = kernel + scaling + kernels_.predict(norm).time.value;
  if (job.optimizer == Optimizer::kMuon) {
    // Five Newton-Schulz steps of a matrix [a, b] with a <= b: 4 a^2 b + 2 a^3 FLOPs each (Jordan
    // et al. 2024); b is about 3 a in the projections of a layer.
    const double side = static_cast<double>(model_.hidden) / job.plan.tp;
    const double owned_products = products / (job.plan.zero == 0 ? 1 : job.plan.sharding());
    const double flops_of = 5 * (4 + 2.0 / 3) * side * owned_products;
    const Gemm g{static_cast<std::int64_t>(side),
                 static_cast<std::int64_t>(side),
                 static_cast<std::int64_t>(side),
                 1,
                 Format::kBf16,
                 false};
    out.optimizer += kernels_.predict(g).time.value * (flops_of / flops(g).value());
  }
}

}  // namespace orrery
