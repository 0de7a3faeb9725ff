#include "orrery/scenario/kinds/training/training_bounds.h"

#include <fmt/format.h>

#include <algorithm>

#include "orrery/scenario/answer/bound_rows.h"
#include "orrery/workload/training/training_program.h"

namespace orrery {
namespace {

// FLOPs of one layer and micro-batch on one rank, forward and backward, without recomputation.
struct LayerWork {
  double core = 0, attention = 0, mlp = 0, all = 0;
};

LayerWork layer_work(const Architecture& model, TrainingJob job) {
  job.flash = true;
  job.recompute = Recompute::kNone;
  LayerWork work;
  for (const TrainingOp& op : training_ops(model, job, 0)) {
    const bool outside =
        op.part == Part::kEmbedding || op.part == Part::kLmHead || op.name == "final_norm";
    if (outside || op.cost == TrainingCost::kAttentionBackward) continue;
    const bool core = op.cost == TrainingCost::kAttention;
    // The gradients of attention have twice the products of the forward pass.
    const double f = op.count * flops(op.op).value() * (core ? 3 : 1);
    work.all += f;
    if (core) work.core += f;
    if (op.part == Part::kAttention) work.attention += f;
    if (op.part == Part::kMlp || op.part == Part::kMoe) work.mlp += f;
  }
  const double share = 1.0 / std::max(1, chunk_layers(model, job.plan, 0).size());
  work.core *= share, work.attention *= share, work.mlp *= share, work.all *= share;
  return work;
}

double row(const Point& p, std::string_view name) {
  for (const MemoryRow& m : p.memory) {
    if (m.name == name) return m.size.value();
  }
  return 0;
}

void add_memory(const Architecture& model, const Gpu& gpu, const TrainingJob& job, Point& p) {
  // Every layer keeps its input, divided at most among the tensor-parallel ranks.
  const double layers = job.offload_activations ? 0 : chunk_layers(model, job.plan, 0).size();
  const double sequence =
      2.0 * static_cast<double>(job.seq) / job.plan.cp * model.hidden * layers / job.plan.tp / 1e9;
  const double kept = sequence * static_cast<double>(job.micro_batch);
  const double states = (1 - kCounted) * (row(p, "weights") + row(p, "optimizer")) / 1e9;
  bound_below(p, "activations", kept, "the input of every layer, in 16 bits");
  bound_below(
      p, "memory", states + kept,
      fmt::format("{:.4g} GB of weights and optimizer states, the input of every layer", states));
  const double room = std::max(0.0, gpu.usable_memory().value() / 1e9 - states);
  if (sequence > 0)
    bound_above(p, "max_micro_batch", room / sequence,
                fmt::format("{:.4g} GB without weights and optimizer states", room));
}

}  // namespace

void bound_training(const Architecture& model, const Gpu& gpu, const TrainingJob& job,
                    double tokens_to_train, Point& p) {
  bound_common(p);
  for (const char* count : {"trained_parameters", "total_flops"}) bound_counted(p, count);
  add_memory(model, gpu, job, p);
  if (job.capacity_factor > 0) return;  // tokens may be dropped
  const double gpus = static_cast<double>(job.plan.devices());
  const double peak = gpu.peak(gpu.compute_dtype(job.precision.compute)).value();
  const double tokens = static_cast<double>(job.global_batch * job.seq);
  const double work = model_flops_per_token(model, job) * tokens;
  const double iteration = work / gpus / peak;
  const std::string why =
      fmt::format("{:.4g} PFLOP on {} GPUs of {:.4g} TFLOP/s", work / 1e15, gpus, peak / 1e12);
  bound_below(p, "iteration_time", iteration, why);
  bound_above(p, "throughput", tokens / iteration, why);
  bound_above(p, "throughput_per_gpu", tokens / iteration / gpus, why);
  bound_above(p, "model_tflops", peak / 1e12, "the data sheet's peak");
  bound_below(p, "time_to_train", tokens_to_train / tokens * iteration / 3600, why);
  bound_below(p, "gpu_hours", tokens_to_train / tokens * iteration * gpus / 3600, why);
  const LayerWork layer = layer_work(model, job);
  const auto below = [&](const char* metric, double flops) {
    bound_below(
        p, metric, flops / peak * 1e3,
        fmt::format("{:.4g} TFLOP a micro-batch at {:.4g} TFLOP/s", flops / 1e12, peak / 1e12));
  };
  below("attention_core", layer.core);
  below("attention_block", layer.attention);
  below("mlp_block", layer.mlp);
  below("layer", layer.all);
  if (!job.offload_optimizer && job.optimizer == Optimizer::kAdam)
    bound_below(p, "optimizer",
                2 * (1 - kCounted) * row(p, "optimizer") / gpu.memory.bandwidth.value() * 1e3,
                "every optimizer state is read and written");
}

}  // namespace orrery
