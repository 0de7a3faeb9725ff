#include "orrery/memory/memory_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "orrery/base/index.h"
#include "orrery/memory/activations.h"
#include "orrery/memory/expert_buffers.h"
#include "orrery/memory/kv_cache.h"
#include "orrery/memory/weights.h"

namespace orrery {

std::array<MemoryItem, 6> MemoryBreakdown::items() const {
  return {{{"weights", weights},
           {"kv_cache", kv_cache},
           {"activations", activations},
           {"workspace", workspace},
           {"graphs", graphs},
           {"context", context}}};
}

Bytes MemoryBreakdown::total() const {
  Bytes sum;
  for (const MemoryItem& item : items()) sum += item.size;
  return sum;
}

bool MemoryBreakdown::fits() const { return total() + reserve <= capacity; }

std::string MemoryBreakdown::summary() const {
  auto parts = items();
  std::stable_sort(parts.begin(), parts.end(),
                   [](const MemoryItem& a, const MemoryItem& b) { return a.size > b.size; });
  return fmt::format("{} {} of the {} that the engine may fill ({} less {} reserve); {} {}, {} {}",
                     fits() ? "fits: takes" : "does not fit: needs", to_text(total()),
                     to_text(capacity - reserve), to_text(capacity), to_text(reserve),
                     parts[0].name, to_text(parts[0].size), parts[1].name, to_text(parts[1].size));
}

MemoryModel::MemoryModel(const Architecture& model, const ParallelPlan& plan,
                         const Precision& precision, const EngineProfile& engine, const Gpu& gpu)
    : model_(model),
      plan_(plan),
      precision_(precision),
      memory_(engine.memory),
      scheduler_(engine.scheduler),
      groups_(kv_groups(model, engine.memory, plan.tp)),
      capacity_(gpu.usable_memory()) {
  check_plan(model, plan, precision);
  for (int stage = 0; stage < plan.pp; ++stage) {
    weights_.push_back(stage_weights(model, plan, precision, stage));
  }
}

Bytes MemoryModel::stage_block(int stage) const {
  const StageLayers range = stage_layers(model_.layers.size(), plan_.pp, stage);
  const std::int64_t block = memory_.block_size;
  const auto& specs = model_.layers.specs();
  if (groups_
          .separate_pools()) {  // a block also has its share of the pool for layers with a window
    Bytes sum;
    for (std::size_t spec = 0; spec < specs.size(); ++spec) {
      const KeptState kept = kept_state(specs[spec].mixer);
      sum += layer_kv(kept, plan_.tp, precision_, block, block) *
             (model_.layers.count(static_cast<int>(spec), range.first, range.last) *
              (kept.window > 0 ? groups_.window_share : 1.0));
    }
    return sum;
  }
  if (groups_.count() > 1) {
    // All layers have blocks of one size, of which those that keep more bytes of a token have
    // several in a row.
    Bytes least;
    for (const LayerSpec& layer : specs) {
      KeptState kept = kept_state(layer.mixer);
      if (kept.cached().total() == 0) continue;
      kept.window = 0;  // a block is whole, even if the window is shorter
      const Bytes one = layer_kv(kept, plan_.tp, precision_, block, block);
      least = least > Bytes(0) ? std::min(least, one) : one;
    }
    return least * static_cast<double>(layers_of_group(model_, groups_, range.first, range.last));
  }
  Bytes sum;
  if (model_.kind == Kind::kEncoder) return sum;
  for (std::size_t spec = 0; spec < specs.size(); ++spec)
    sum += layer_kv(kept_state(specs[spec].mixer), plan_.tp, precision_, block, block) *
           model_.layers.count(static_cast<int>(spec), range.first, range.last);
  return sum / plan_.cp;  // models with windows have no cp
}

Bytes MemoryModel::stage_sequence(int stage, std::int64_t tokens) const {
  if (!memory_.paged) return stage_kv(model_, plan_, precision_, stage, tokens, 1);
  return stage_state(model_, plan_, precision_, stage) +
         static_cast<double>(groups_.held(tokens, memory_.block_size)) * stage_block(stage);
}

MemoryBreakdown MemoryModel::stage_load(int stage, std::int64_t sequences,
                                        std::int64_t tokens) const {
  const std::int64_t group = (sequences + plan_.dp - 1) / plan_.dp;
  std::int64_t step = scheduler_.max_num_batched_tokens,
               sampled = std::min(scheduler_.max_num_seqs, step);
  if (!scheduler_.continuous) {
    // The bound is applied before the product, because both factors may be large.
    step = group > 0 && tokens > step / group ? step : group * tokens;
    sampled = group;
  }
  MemoryBreakdown m;
  m.weights = weights_[index(stage)];
  m.kv_cache = stage_sequence(stage, tokens) * static_cast<double>(group);
  m.activations = activation_peak(model_, plan_, precision_, stage, step, sampled);
  m.workspace = memory_.workspace + expert_buffers(model_, plan_);
  m.graphs = memory_.graphs;
  m.context = memory_.context;
  m.capacity = capacity_;
  m.reserve = reserved(m);
  return m;
}

Bytes MemoryModel::reserved(const MemoryBreakdown& m) const {
  using ShareOf = EngineProfile::Memory::ShareOf;
  const double rest = 1 - memory_.utilization;
  switch (memory_.share_of) {
    case ShareOf::kWeightsAndKv:
      return std::max(Bytes(0),
                      (capacity_ - m.context) * rest - (m.activations + m.workspace + m.graphs));
    case ShareOf::kFree:
      return std::max(Bytes(0), capacity_ - (m.total() - m.kv_cache)) * rest;
    case ShareOf::kDevice:
      break;
  }
  return capacity_ * rest;
}

MemoryBreakdown MemoryModel::load(std::int64_t sequences, std::int64_t tokens,
                                  std::int64_t max_model_len) const {
  const std::int64_t reserved = memory_.paged ? tokens : std::max(tokens, max_model_len);
  MemoryBreakdown most = stage_load(0, sequences, reserved);
  for (int stage = 1; stage < plan_.pp; ++stage) {
    const MemoryBreakdown m = stage_load(stage, sequences, reserved);
    if (m.total() > most.total()) most = m;
  }
  return most;
}

MemoryBreakdown MemoryModel::full() const {
  MemoryBreakdown m = load(0, 0);
  m.kv_cache = std::max(Bytes(0), m.capacity - m.reserve - m.total());
  return m;
}

Bytes MemoryModel::kv_per_sequence(std::int64_t tokens) const {
  Bytes most;
  for (int stage = 0; stage < plan_.pp; ++stage)
    most = std::max(most, stage_sequence(stage, tokens));
  return most;
}

Bytes MemoryModel::kv_block() const {
  Bytes most;
  for (int stage = 0; stage < plan_.pp; ++stage) most = std::max(most, stage_block(stage));
  return most;
}

Bytes MemoryModel::kv_of_model(std::int64_t tokens) const {
  return stage_kv(model_, ParallelPlan{}, precision_, 0, tokens, 1);
}

Bytes MemoryModel::kv_pool() const { return full().kv_cache; }

std::int64_t MemoryModel::kv_blocks(Bytes taken, Bytes with_block) const {
  std::int64_t least = std::int64_t{1} << 30;
  for (int stage = 0; stage < plan_.pp; ++stage) {
    const MemoryBreakdown m = stage_load(stage, 0, 0);
    const Bytes block = stage_block(stage) + with_block;
    const Bytes room = m.capacity - m.reserve - m.total() - taken;
    if (room <= Bytes(0)) return 0;
    if (block > Bytes(0)) least = std::min(least, static_cast<std::int64_t>(room / block));
  }
  return least;
}

std::int64_t MemoryModel::state_blocks() const {
  std::int64_t most = 0;
  for (int stage = 0; stage < plan_.pp; ++stage) {
    const Bytes block = stage_block(stage);
    if (block == Bytes(0)) continue;
    const double blocks = stage_state(model_, plan_, precision_, stage) / block;
    most = std::max(most, static_cast<std::int64_t>(std::ceil(blocks - 1e-9)));
  }
  return most;
}

std::int64_t MemoryModel::max_concurrency(std::int64_t tokens) const {
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  std::int64_t fitting = 0, too_many = kMost / plan_.dp + 1;  // in one dp group
  while (too_many - fitting > 1) {
    const std::int64_t middle = fitting + (too_many - fitting) / 2;
    (load(middle * plan_.dp, tokens).fits() ? fitting : too_many) = middle;
  }
  return fitting * plan_.dp;
}

}  // namespace orrery
