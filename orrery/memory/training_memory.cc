#include "orrery/memory/training_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "orrery/base/error.h"
#include "orrery/memory/saved_activations.h"
#include "orrery/memory/training_state.h"
#include "orrery/workload/plan/pipeline_schedules.h"

namespace orrery {
namespace {

// Memory of a communicator on each of its ranks. NCCL 2.18 takes 688 MB on four A100
// (github.com/NVIDIA/nccl/issues/964), in proportion to its channels (issue 986). The number of
// channels is proportional to the links: an A100 has twice as many as a V100 (issue 713). It is
// between 4 and 32; an A100 has 24.
constexpr Bytes kCommunicator = gigabytes(0.688);
constexpr BytesPerSecond kCommunicatorLinks(300e9);
constexpr double kRoutedDeviation = 0.2;  // of the activations of a model with routed experts
constexpr double kLeastChannels = 4.0 / 24, kMostChannels = 32.0 / 24;

Bytes communicators(const TrainingPlan& p, const TrainingMemoryConstants& stack, const Gpu& gpu) {
  const auto several = [](std::int64_t ranks) { return ranks > 1 ? 1 : 0; };
  const int groups = several(p.tp) + several(p.pp) + several(p.cp) + several(p.dp) + several(p.ep);
  const int further = several(p.devices()) + several(std::int64_t{p.tp} * p.pp) + several(p.pp);
  const int all = std::max(1, stack.grids) * groups + stack.grids * further;
  return all * kCommunicator *
         std::clamp(gpu.scale_up.bandwidth / kCommunicatorLinks, kLeastChannels, kMostChannels);
}

// The layer of the rank's chunks whose backward pass needs the most memory.
struct BackwardLayer {
  Bytes recomputed;  // tensors that are computed again
  Bytes gradients;
  Bytes kept;   // tensors that recomputation keeps
  Bytes saved;  // tensors that are kept without recomputation
};

BackwardLayer widest_layer(const Architecture& model, const TrainingJob& job,
                           const TrainingMemoryConstants& stack, const std::vector<int>& chunks) {
  BackwardLayer widest;
  for (const int chunk : chunks) {
    const StageLayers range = chunk_layers(model, job.plan, chunk);
    for (std::size_t i = 0; i < model.layers.specs().size(); ++i) {
      if (model.layers.count(static_cast<int>(i), range.first, range.last) == 0) continue;
      const LayerActivations a = layer_activations(model, model.layers.specs()[i], job, stack);
      widest.gradients = std::max(widest.gradients, a.gradients);
      widest.saved = std::max(widest.saved, a.saved);
      Bytes again;
      if (job.recompute == Recompute::kFull) again = a.saved - a.input;
      if (job.recompute == Recompute::kSelective)
        again = job.recomputes(RecomputeModule::kProducts) ? a.saved - std::min(a.products, a.saved)
                                                           : a.dropped;
      widest.recomputed = std::max(widest.recomputed, again);
      widest.kept = std::max(widest.kept, a.saved - again);
    }
  }
  return widest;
}

Bytes logits_peak(const Architecture& model, const TrainingJob& job,
                  const TrainingMemoryConstants& stack, const std::vector<int>& chunks) {
  const int last = job.plan.pp * job.plan.vp - 1;
  if (!model.lm_head || std::find(chunks.begin(), chunks.end(), last) == chunks.end())
    return Bytes(0);
  const double elements = static_cast<double>(rank_tokens(job)) * model.vocab / job.plan.tp;
  const double each =
      job.fused_cross_entropy
          ? stack.fused_logits
          : bytes_per_element(job.precision.activations).value() + stack.logits_extra;
  return Bytes(elements * each);
}

// As training_memory, for a job that check_job accepts.
TrainingMemory stage_memory(const Architecture& model, const TrainingJob& job,
                            const TrainingMemoryConstants& stack, const Gpu& gpu,
                            const StageLoad& load) {
  const TrainingState state = training_state(model, job, stack, load.chunks);
  TrainingMemory m;
  m.weights = state.weights;
  m.optimizer = state.optimizer;
  m.buckets = state.buckets;
  m.workspace = stack.workspace;
  m.context = stack.fitted.context + communicators(job.plan, stack, gpu);
  m.capacity = gpu.usable_memory();

  Bytes saved;
  for (const int chunk : load.chunks) saved += chunk_activations(model, job, stack, chunk);
  const Bytes of_chunk = saved / static_cast<double>(std::max<std::size_t>(1, load.chunks.size()));
  saved *= load.in_flight;
  const BackwardLayer layer = widest_layer(model, job, stack, load.chunks);
  if (load.in_pairs) saved -= of_chunk - std::min(layer.kept, of_chunk);
  // If activations are offloaded, the device has those of two layers.
  const Bytes all_saved = saved;
  if (job.offload_activations) saved = std::min(saved, 2 * layer.kept);
  m.host = state.host + (all_saved - saved);
  const bool held = stack.gradient_buffer || job.micro_batches() > 1;

  struct Moment {
    std::string_view name;
    Bytes gradients, activations, logits, buckets;
  };
  const Bytes during = held ? state.gradients - state.passing : Bytes(0);
  // Gradients that are freed after each backward pass are complete when the activations of one
  // micro-batch are gone.
  const Bytes others = state.passing > Bytes(0) ? saved - std::min(saved, of_chunk) : Bytes(0);
  const std::array<Moment, 4> moments = {
      {{"loss", during, saved * stack.fitted.factor, logits_peak(model, job, stack, load.chunks),
        state.buckets},
       {"backward", during, (saved + layer.recomputed + layer.gradients) * stack.fitted.factor,
        Bytes(0), state.buckets},
       {"end of backward", state.gradients,
        (others + std::min(saved + layer.recomputed, layer.saved) + layer.gradients) *
            stack.fitted.factor,
        Bytes(0), state.buckets},
       {"optimizer step", state.gradients - state.passing + state.step_copies, Bytes(0), Bytes(0),
        Bytes(0)}}};
  const bool routed =
      std::any_of(model.layers.specs().begin(), model.layers.specs().end(),
                  [](const LayerSpec& layer) { return std::holds_alternative<MoeMlp>(layer.mlp); });
  Bytes most(-1);
  for (const Moment& now : moments) {
    const Bytes passing = now.activations + now.logits + now.buckets;
    const Bytes sum = now.gradients + passing * (1 + stack.fitted.fragmentation);
    if (sum <= most) continue;
    most = sum;
    m.moment = now.name;
    m.gradients = now.gradients;
    m.activations = now.activations;
    m.logits = now.logits;
    m.buckets = now.buckets;
    m.fragmentation = passing * stack.fitted.fragmentation;
    m.routed = routed ? now.activations : Bytes(0);
  }
  if (job.paged_optimizer && !job.offload_optimizer) {
    m.paged = std::clamp(m.total() - m.capacity, Bytes(0), m.optimizer);
    m.optimizer -= m.paged;
    m.pageable = m.optimizer, m.host += m.paged;
  }
  return m;
}

}  // namespace

std::array<MemoryItem, 9> TrainingMemory::items() const {
  return {{{"weights", weights},
           {"gradients", gradients},
           {"optimizer", optimizer},
           {"activations", activations},
           {"logits", logits},
           {"buckets", buckets},
           {"workspace", workspace},
           {"context", context},
           {"fragmentation", fragmentation}}};
}

Bytes TrainingMemory::total() const {
  Bytes sum;
  for (const MemoryItem& item : items()) sum += item.size;
  return sum;
}

Bytes TrainingMemory::reserved() const { return total() - context; }
Bytes TrainingMemory::allocated() const { return reserved() - fragmentation; }

std::string TrainingMemory::summary() const {
  auto parts = items();
  std::stable_sort(parts.begin(), parts.end(),
                   [](const MemoryItem& a, const MemoryItem& b) { return a.size > b.size; });
  return fmt::format("{} {} of {} ({}); {} {}, {} {}",
                     fits() ? "fits: takes" : "does not fit: needs", to_text(total()),
                     to_text(capacity), moment, parts[0].name, to_text(parts[0].size),
                     parts[1].name, to_text(parts[1].size));
}

StageLoad classic_load(const TrainingJob& job, int stage) {
  const TrainingPlan& p = job.plan;
  const PipelineScheduleTraits& traits = pipeline_schedule_kind(schedule_name(p)).traits;
  const int chunks = traits.placement == ChunkPlacement::kLooped ? p.vp : 2;
  StageLoad load;
  for (int c = 0; c < chunks; ++c)
    load.chunks.push_back(placed_virtual_stage(traits.placement, stage, c, p.pp));
  PipelineStageSize size{.micro_batches = static_cast<double>(job.micro_batches()),
                         .stages = static_cast<double>(p.pp),
                         .chunks = static_cast<double>(p.vp),
                         .to_last = static_cast<double>(p.pp - stage)};
  load.in_flight = traits.in_flight(size);
  // With more micro-batches than the stage holds, it holds the most during a pair.
  size.micro_batches += 1;
  load.in_pairs = traits.pairs_by_layer && traits.in_flight(size) == load.in_flight;
  return load;
}

TrainingMemory training_memory(const Architecture& model, const TrainingJob& job,
                               const TrainingMemoryConstants& stack, const Gpu& gpu,
                               const StageLoad& load) {
  check_job(model, job);
  return stage_memory(model, job, stack, gpu, load);
}

TrainingMemory training_memory(const Architecture& model, const TrainingJob& job,
                               const TrainingMemoryConstants& stack, const Gpu& gpu) {
  check_job(model, job);
  const int last = job.plan.pp - 1;
  // If all layers are alike, the stages between the second and the last have as many layers as the
  // second one, and not more micro-batches in flight.
  const bool alike =
      job.plan.split.empty() && !job.plan.rule.balanced && model.layers.runs().size() == 1;
  TrainingMemory most;
  for (int stage = 0; stage <= last; ++stage) {
    if (alike && stage > 1 && stage < last) continue;
    const TrainingMemory m = stage_memory(model, job, stack, gpu, classic_load(job, stage));
    if (stage == 0 || m.total() > most.total()) most = m;
  }
  return most;
}

double memory_error(const TrainingMemory& memory, const MemoryError& error) {
  return std::hypot(error.share(memory.total()),
                    kRoutedDeviation * (memory.routed / memory.total()));
}

double fit_probability(const TrainingMemory& memory, const MemoryError& error) {
  const Bytes needed = memory.total() - memory.pageable;
  const double deviation =
      std::hypot(error.deviation(needed).value(), kRoutedDeviation * memory.routed.value());
  const double over = (needed - memory.capacity).value() / deviation;
  return std::clamp(0.5 * std::erfc(over / std::sqrt(2.0)), 1e-6, 1 - 1e-6);
}

std::int64_t largest_micro_batch(const Architecture& model, const TrainingJob& job,
                                 const TrainingMemoryConstants& stack, const Gpu& gpu) {
  TrainingJob trial = job;
  const std::int64_t count = std::max<std::int64_t>(1, job.micro_batches());
  std::int64_t fitting = 0, too_large = (std::int64_t{1} << 20) + 1;
  while (too_large - fitting > 1) {
    trial.micro_batch = fitting + (too_large - fitting) / 2;
    trial.global_batch = trial.micro_batch * job.plan.dp * count;
    (training_memory(model, trial, stack, gpu).fits() ? fitting : too_large) = trial.micro_batch;
  }
  return fitting;
}

}  // namespace orrery
