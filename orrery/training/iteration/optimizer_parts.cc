#include "orrery/training/iteration/optimizer_parts.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "orrery/training/iteration/host_link.h"

namespace orrery {
namespace {

// Memory bandwidth of an Adam step on the host: one GPU's share of a server with two sockets and 8
// GPUs. A socket has 8 channels of DDR4-3200 (204.8 GB/s) or DDR5-4800 (307 GB/s) by its
// specification, so the server has 400 to 600 GB/s.
constexpr BytesPerSecond kHostMemory = BytesPerSecond(50e9);

// Parameters of a piece of an Adam step on the host. DeepSpeed's CPU Adam copies a piece back
// during the step of the next one (TILE in csrc/includes/cpu_adam.h).
constexpr double kHostTile = 128 << 20;

// Bytes that the optimizer reads and writes in a step.
OptimizerStep optimizer_step(std::int64_t parameters, const TrainingJob& job) {
  const TrainingPrecision& f = job.precision;
  OptimizerStep step =
      adam_step(parameters, f.activations, f.gradients,
                f.master_weights ? std::optional(Dtype::kFp32) : std::nullopt, f.moments);
  const Bytes moment = bytes_per_element(f.moments);
  if (job.optimizer == Optimizer::kSgd || job.optimizer == Optimizer::kMuon)
    step.read -= moment, step.written -= moment;  // one moment
  if (job.optimizer == Optimizer::kAdafactor)
    step.read -= 2 * moment, step.written -= 2 * moment;  // rows and columns alone
  return step;
}

// Five Newton-Schulz steps of a matrix [a, b] with a <= b: 4 a^2 b + 2 a^3 FLOPs each (Jordan et
// al. 2024); b is about 3 a in the projections of a layer. `products`: parameters of the stage's
// matrices, before ZeRO divides them.
Seconds newton_schulz_time(const KernelModel& kernels, double hidden, const TrainingPlan& plan,
                           double products) {
  const double side = hidden / plan.tp;
  const double owned = products / (plan.zero == 0 ? 1 : plan.sharding());
  const double flops_of = 5 * (4 + 2.0 / 3) * side * owned;
  const auto length = static_cast<std::int64_t>(side);
  const Gemm g{length, length, length, 1, Format::kBf16, false};
  return kernels.predict(g).time.value * (flops_of / flops(g).value());
}

}  // namespace

void add_optimizer(const KernelModel& kernels, const Gpu& gpu, double hidden,
                   const TrainingJob& job, const UpdatedParameters& updated, StageParts& out) {
  const double owned = updated.owned;
  const auto parameters = static_cast<std::int64_t>(std::max(1.0, owned));
  const Bytes gradient = bytes_per_element(job.precision.gradients);
  const OptimizerStep step = optimizer_step(parameters, job);
  const Seconds kernel = kernels.predict(step).time.value;
  // fp16 gradients are divided by the scale of the loss and checked for overflow, in place.
  Seconds scaling;
  if (job.precision.compute == Dtype::kFp16)
    scaling = kernels.predict(OptimizerStep{parameters, gradient, gradient}).time.value;
  // The norm of the gradients reads them once more.
  const Seconds norm = kernels.predict(OptimizerStep{parameters, gradient, Bytes(0)}).time.value;
  if (job.offload_optimizer) {
    const Bytes weight =
        job.precision.fp8_parameters ? Bytes(1) : bytes_per_element(job.precision.activations);
    const BytesPerSecond link = host_link(gpu);
    out.to_host = owned * gradient / link;
    out.host_step = owned * (step.read + step.written) / kHostMemory;
    out.from_host = owned * weight / link;
    out.host_pieces = static_cast<int>(std::ceil(std::max(1.0, owned) / kHostTile));
    out.optimizer = scaling + norm;
    return;
  }
  out.optimizer = kernel + scaling + norm;
  if (job.optimizer == Optimizer::kMuon)
    out.optimizer += newton_schulz_time(kernels, hidden, job.plan, updated.products);
}

}  // namespace orrery
