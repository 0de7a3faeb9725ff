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

namespace {

// The rules by which a rank holds parameters, one by one.
struct HoldingRules {
  const Architecture& model;
  const TrainingJob& job;
  const TrainingMemoryConstants& stack;
  double plain;        // bytes of an element of the activations
  double gradient;     // bytes of a gradient
  double narrow_sums;  // bytes of a gradient's sum over micro-batches in the activations' format

  HoldingRules(const Architecture& of, const TrainingJob& in, const TrainingMemoryConstants& by)
      : model(of),
        job(in),
        stack(by),
        plain(bytes_per_element(in.precision.activations).value()),
        gradient(bytes_per_element(in.adapter_format.value_or(in.precision.gradients)).value()),
        narrow_sums(by.narrow_gradients && gradient > plain ? plain : 0) {}

  double shard() const { return job.plan.sharding(); }
  double expert_shard() const { return job.plan.expert_peers(job.plan.sharding()); }
  // The ranks over which ZeRO of stage `least` and more divides dense weights, and experts.
  double dense_ranks(int least) const { return job.plan.zero >= least ? shard() : 1; }
  double expert_ranks(int least) const { return job.plan.zero >= least ? expert_shard() : 1; }
  // Trained parameters, each of which counts as the share of it that the rank holds.
  double trained(const ChunkParameters& n, int least) const {
    return n.trained_dense / dense_ranks(least) + n.trained_experts / expert_ranks(least);
  }
};

// The matrices of layers of a virtual stage without routed experts.
double dense_products(const ChunkParameters& n) { return std::max(0.0, n.products - n.experts); }

// Bytes of an adapter's weight.
double adapter_weight(const HoldingRules& r) {
  if (r.job.adapter_format) return bytes_per_element(*r.job.adapter_format).value();
  return r.job.precision.master_weights && r.stack.fp32_parameters ? kStateFp32 : r.plain;
}

void add_weights(const HoldingRules& r, const ChunkParameters& n, TrainingState& s) {
  const WeightBytes held = held_weights(r.job, r.stack);
  // fp8 products keep row- and column-wise copies of weights between micro-batches.
  const TrainingPrecision& f = r.job.precision;
  const bool narrow = f.compute == Dtype::kFp8 || f.compute == Dtype::kFp4;
  const double narrow_copies =
      narrow && r.job.plan.zero < 3 && r.job.tuning == Tuning::kFull
          ? 2 * bytes_per_element(f.compute).value() - (f.fp8_parameters ? 1 : 0)
          : 0;
  const double products = dense_products(n), other = n.dense - products;
  s.weights += Bytes((products * held.product + other * held.other) / r.dense_ranks(3) +
                     n.experts * held.product / r.expert_ranks(3) + n.products * narrow_copies);
  const double adapters = r.job.tuning == Tuning::kFull ? 0 : n.trained();
  s.weights += Bytes(adapters * adapter_weight(r) / r.dense_ranks(3));
}

void add_gradients(const HoldingRules& r, const ChunkParameters& n, TrainingState& s) {
  const double both =
      r.gradient + r.narrow_sums + (r.stack.gradient_buckets && r.job.plan.zero == 0 ? r.plain : 0);
  const double trained = r.trained(n, 2);
  s.gradients += Bytes(both * trained);
  if (r.stack.narrow_gradients_freed) s.passing += Bytes(r.narrow_sums * trained);
}

// The states of the optimizer on the GPU or the host, and what its step copies.
void add_optimizer_states(const HoldingRules& r, const ChunkParameters& n, TrainingState& s) {
  const TrainingPlan& p = r.job.plan;
  const double products = r.job.tuning == Tuning::kFull ? dense_products(n) : n.trained_dense;
  const double other = n.trained_dense - products;
  const double dense_states = r.dense_ranks(1), expert_states = r.expert_ranks(1);
  const Bytes states = optimizer_bytes(r.model, r.job, r.stack, true) *
                           (products / dense_states + n.trained_experts / expert_states) +
                       optimizer_bytes(r.model, r.job, r.stack, false) * (other / dense_states);
  if (r.job.offload_optimizer) {
    // The host also holds the gradients that its step reads.
    s.host += states + Bytes(r.gradient * r.trained(n, 1));
  } else {
    s.optimizer += states;
    // A paged optimizer updates one tensor after the other in place.
    const bool copies = r.stack.step_copy && !r.job.paged_optimizer;
    const double at_step = (has_master(r.job) && r.gradient < kStateFp32 ? kStateFp32 : 0) +
                           (copies ? bytes_per_element(r.job.precision.moments).value() : 0);
    s.step_copies += Bytes(at_step * r.trained(n, 1));
  }
  if (p.zero > 0 && p.zero < 3 && p.data_ranks() > 1)
    s.step_copies += Bytes(r.stack.gathered_copies * r.plain * n.all());
}

// The buffers in which data-parallel ranks gather weights and reduce gradients.
void add_data_buffers(const HoldingRules& r, const std::vector<int>& chunks,
                      const std::vector<ChunkParameters>& of_chunks, TrainingState& s) {
  const TrainingPlan& p = r.job.plan;
  for (const ChunkParameters& n : of_chunks) {
    if (p.zero == 3 && p.resharding() < p.sharding())
      s.buckets += gathered_weight(r.job) *
                   (n.dense / p.resharding() + n.experts / p.expert_peers(p.resharding()));
  }
  if (p.zero == 3 && p.data_ranks() > 1) {
    const double reduced = r.job.tuning == Tuning::kFull ? r.gradient : 0;
    const auto unit = [&](bool two) {
      return largest_unit(r.model, r.job, chunks, of_chunks, r.expert_shard() > 1, two ? 2 : 1);
    };
    if (p.resharding() > 1)
      s.buckets += unit(p.prefetch == Prefetch::kPre) * gathered_weight(r.job);
    s.buckets += Bytes(unit(p.prefetch != Prefetch::kNone) * reduced);
  }
  if (r.stack.bucket > 0 && p.data_ranks() > 1) {
    double all = 0;
    for (const ChunkParameters& n : of_chunks) all += n.trained();
    s.buckets += Bytes(2 * r.plain * std::min(r.stack.bucket, all));
  }
}

// The buffers of sends between pipeline stages, and of keys and values between context-parallel
// ranks.
void add_activation_buffers(const HoldingRules& r, TrainingState& s) {
  const TrainingPlan& p = r.job.plan;
  const double tokens = static_cast<double>(rank_tokens(r.job));
  if (p.pp > 1)
    s.buckets += Bytes(2 * r.plain * r.model.hidden * tokens / (p.sequence_parallel ? p.tp : 1));
  if (p.ring_ranks() > 1) {
    const double ranks = p.context == ContextMethod::kAllGather ? p.cp - 1 : 1;
    s.buckets += Bytes(r.plain * exchanged_width(r.model, p.tp) * tokens * ranks);
  }
}

}  // namespace

TrainingState training_state(const Architecture& model, const TrainingJob& job,
                             const TrainingMemoryConstants& stack, const std::vector<int>& chunks) {
  const HoldingRules rules(model, job, stack);
  std::vector<ChunkParameters> of_chunks;
  for (const int chunk : chunks) of_chunks.push_back(chunk_parameters(model, job, chunk));
  TrainingState s;
  for (const ChunkParameters& n : of_chunks) {
    add_weights(rules, n, s);
    add_gradients(rules, n, s);
    add_optimizer_states(rules, n, s);
  }
  add_data_buffers(rules, chunks, of_chunks, s);
  add_activation_buffers(rules, s);
  return s;
}

}  // namespace orrery
