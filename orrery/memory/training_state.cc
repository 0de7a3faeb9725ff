#include "orrery/memory/training_state.h"

#include <algorithm>

#include "orrery/workload/training/training_parameters.h"

namespace orrery {
namespace {

constexpr double kStateFp32 = 4;

// Whether the optimizer updates an fp32 copy. PyTorch's optimizers update adapters themselves.
bool has_master(const TrainingJob& job) {
  return job.precision.master_weights && !job.adapter_format;
}

bool fp32_parameters(const TrainingJob& job, const TrainingMemoryConstants& stack) {
  return stack.fp32_parameters && job.precision.master_weights && job.tuning == Tuning::kFull;
}

// Bytes of a weight in the format that products read.
struct WeightBytes {
  double product, other;  // of the layers' matrices; of other weights
};
WeightBytes held_weights(const TrainingJob& job, const TrainingMemoryConstants& stack) {
  const double plain = bytes_per_element(job.precision.activations).value();
  if (job.tuning == Tuning::kQlora) return {kNf4Bytes, plain};
  if (fp32_parameters(job, stack)) return {kStateFp32, kStateFp32};
  if (job.precision.fp8_parameters) return {1, plain};
  return {plain, plain};
}

// Number of parameters of the largest unit that is gathered at once: `layers` layers of the rank's
// chunks, or the embedding or LM head. `experts`: routed experts are sharded too.
double largest_unit(const Architecture& model, const TrainingJob& job,
                    const std::vector<int>& chunks, const std::vector<ChunkParameters>& of_chunks,
                    bool experts, int layers) {
  double largest = 0;
  const int last = job.plan.pp * job.plan.vp - 1;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    const int chunk = chunks[i];
    const StageLayers range = chunk_layers(model, job.plan, chunk);
    const ChunkParameters& n = of_chunks[i];
    const double all = n.products - (experts ? 0 : n.experts);
    if (range.size() > 0) largest = std::max(largest, std::min(all, all / range.size() * layers));
    if (chunk == 0 || chunk == last)
      largest = std::max(largest, 1.0 * model.vocab * model.hidden / job.plan.tp);
  }
  return largest;
}

// Elements of the keys and values of a token on one rank that context-parallel ranks exchange, in
// the layer with the widest mixer.
double exchanged_width(const Architecture& model, int tp) {
  double widest = 0;
  for (const LayerSpec& layer : model.layers.specs())
    widest = std::max(widest, attention_widths(layer.mixer).keys.on_rank(tp));
  return widest;
}

}  // namespace

Bytes optimizer_bytes(const Architecture& model, const TrainingJob& job,
                      const TrainingMemoryConstants& stack, bool product) {
  const double moment = bytes_per_element(job.precision.moments).value();
  const double master = has_master(job) && !fp32_parameters(job, stack) ? kStateFp32 : 0;
  switch (job.optimizer) {
    case Optimizer::kAdam:
      return Bytes(master + 2 * moment);
    case Optimizer::kSgd:
      return Bytes(master + moment);
    case Optimizer::kAdafactor:
      return Bytes(master + 2.0 / model.hidden * moment);
    case Optimizer::kMuon:
      return Bytes(master + (product ? 1 : 2) * moment);
  }
  return Bytes(0);
}

TrainingState training_state(const Architecture& model, const TrainingJob& job,
                             const TrainingMemoryConstants& stack, const std::vector<int>& chunks) {
  const TrainingPlan& p = job.plan;
  const double shard = p.sharding();
  const double expert_shard = p.expert_peers(p.sharding());
  const WeightBytes held = held_weights(job, stack);
  const double plain = bytes_per_element(job.precision.activations).value();
  const double gradient =
      bytes_per_element(job.adapter_format.value_or(job.precision.gradients)).value();
  const double narrow_sums = stack.narrow_gradients && gradient > plain ? plain : 0;
  const double both = gradient + narrow_sums + (stack.gradient_buckets && p.zero == 0 ? plain : 0);
  // fp8 products keep row- and column-wise copies of weights between micro-batches.
  const bool narrow = job.precision.compute == Dtype::kFp8 || job.precision.compute == Dtype::kFp4;
  const double narrow_copies = narrow && p.zero < 3 && job.tuning == Tuning::kFull
                                   ? 2 * bytes_per_element(job.precision.compute).value() -
                                         (job.precision.fp8_parameters ? 1 : 0)
                                   : 0;
  const auto of = [](int zero, int least, double ranks) { return zero >= least ? ranks : 1; };

  std::vector<ChunkParameters> of_chunks;
  for (const int chunk : chunks) of_chunks.push_back(chunk_parameters(model, job, chunk));
  TrainingState s;
  for (const ChunkParameters& n : of_chunks) {
    const double sharded_dense = of(p.zero, 3, shard),
                 sharded_experts = of(p.zero, 3, expert_shard);
    const double products = std::max(0.0, n.products - n.experts), other = n.dense - products;
    s.weights += Bytes((products * held.product + other * held.other) / sharded_dense +
                       n.experts * held.product / sharded_experts + n.products * narrow_copies);
    const double adapters = job.tuning == Tuning::kFull ? 0 : n.trained();
    s.weights += Bytes(adapters *
                       (job.adapter_format ? bytes_per_element(*job.adapter_format).value()
                        : job.precision.master_weights && stack.fp32_parameters ? kStateFp32
                                                                                : plain) /
                       sharded_dense);
    const double trained_products = job.tuning == Tuning::kFull ? products : n.trained_dense;
    const double trained_other = n.trained_dense - trained_products;
    const double trained =
        n.trained_dense / of(p.zero, 2, shard) + n.trained_experts / of(p.zero, 2, expert_shard);
    s.gradients += Bytes(both * trained);
    if (stack.narrow_gradients_freed) s.passing += Bytes(narrow_sums * trained);
    const double dense_states = of(p.zero, 1, shard), expert_states = of(p.zero, 1, expert_shard);
    const Bytes states = optimizer_bytes(model, job, stack, true) *
                             (trained_products / dense_states + n.trained_experts / expert_states) +
                         optimizer_bytes(model, job, stack, false) * (trained_other / dense_states);
    if (job.offload_optimizer) {
      // The host also holds the gradients that its step reads.
      s.host +=
          states +
          Bytes(gradient * (n.trained_dense / dense_states + n.trained_experts / expert_states));
    } else {
      s.optimizer += states;
      // A paged optimizer updates one tensor after the other in place.
      const bool copies = stack.step_copy && !job.paged_optimizer;
      const double at_step = (has_master(job) && gradient < kStateFp32 ? kStateFp32 : 0) +
                             (copies ? bytes_per_element(job.precision.moments).value() : 0);
      s.step_copies +=
          Bytes(at_step * (n.trained_dense / dense_states + n.trained_experts / expert_states));
    }
    if (p.zero > 0 && p.zero < 3 && p.data_ranks() > 1)
      s.step_copies += Bytes(stack.gathered_copies * plain * n.all());
    if (p.zero == 3 && p.resharding() < p.sharding())
      s.buckets += gathered_weight(job) *
                   (n.dense / p.resharding() + n.experts / p.expert_peers(p.resharding()));
  }
  if (p.zero == 3 && p.data_ranks() > 1) {
    const double reduced = job.tuning == Tuning::kFull ? gradient : 0;
    const auto held = [&](bool two) {
      return largest_unit(model, job, chunks, of_chunks, expert_shard > 1, two ? 2 : 1);
    };
    if (p.resharding() > 1) s.buckets += held(p.prefetch == Prefetch::kPre) * gathered_weight(job);
    s.buckets += Bytes(held(p.prefetch != Prefetch::kNone) * reduced);
  }
  if (stack.bucket > 0 && p.data_ranks() > 1) {
    double all = 0;
    for (const ChunkParameters& n : of_chunks) all += n.trained();
    s.buckets += Bytes(2 * plain * std::min(stack.bucket, all));
  }
  const double tokens = static_cast<double>(rank_tokens(job));
  if (p.pp > 1)
    s.buckets += Bytes(2 * plain * model.hidden * tokens / (p.sequence_parallel ? p.tp : 1));
  if (p.ring_ranks() > 1) {
    const double ranks = p.context == ContextMethod::kAllGather ? p.cp - 1 : 1;
    s.buckets += Bytes(plain * exchanged_width(model, p.tp) * tokens * ranks);
  }
  return s;
}

}  // namespace orrery
