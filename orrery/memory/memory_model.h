// The memory of one GPU of a serving deployment, and the number of sequences that fit next to the
// weights.
//
// One rank of a pipeline stage holds:
//
//   weights      every matrix in its stored size, scales included, divided among the ranks that
//                share it (weights.h)
//   KV cache     what the mixer keeps for each token and layer (kv_cache.h), in blocks or
//                contiguous. Layers with a sliding window keep only the window if the cache is
//                contiguous or the engine frees blocks outside of the window (kv_groups.h).
//   activations  the largest set of buffers in a step that exist at once (activations.h): of
//                max_num_batched_tokens tokens with continuous batching, because such engines
//                measure that step at start; with static batching of the prompts of the whole
//                batch, at most max_num_batched_tokens tokens
//   workspace, graphs, context   constants of the engine (orrery/workload/plan/engine.h); the
//                workspace includes the buffers of DeepEP (expert_buffers.h)
//   reserve      memory that the engine leaves unused, by what its utilization is a share of
//                (EngineProfile::Memory::ShareOf): capacity * (1 - utilization); that of the memory
//                beside the context, less activations, workspace and graphs; or that of what all
//                but the KV cache leave free
//
// `capacity` is the total that the driver reports (Gpu::memory.usable), a little less than the size
// in the data sheet. The stage with the least free memory decides.
//
// Sizes are Bytes. Faces print GB = 1e9, and GiB = 2^30 where users expect it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/units.h"
#include "orrery/hardware/gpu.h"
#include "orrery/memory/kv_groups.h"
#include "orrery/model/architecture/architecture.h"
#include "orrery/workload/plan/engine.h"
#include "orrery/workload/plan/plan.h"

namespace orrery {

struct MemoryItem {
  std::string_view name;  // "weights", "kv_cache", ...
  Bytes size;
};

// The memory of one device.
struct MemoryBreakdown {
  Bytes weights, kv_cache, activations, workspace, graphs, context;
  Bytes reserve;
  Bytes capacity;

  // The parts in use: weights, kv_cache, activations, workspace, graphs, context, in this order.
  std::array<MemoryItem, 6> items() const;
  Bytes total() const;  // sum of items(), without the reserve
  // Whether total + reserve <= capacity.
  bool fits() const;
  // One line with the two largest parts: "does not fit: needs 141.5 GB of the 76.5 GB that the
  // engine may fill (85.0 GB less 8.5 GB reserve); weights 137.9 GB, kv_cache 2.6 GB".
  std::string summary() const;
};

class MemoryModel {
 public:
  // Copies what it needs. `engine.scheduler` has the limits for this GPU. Throws InputError,
  // Infeasible and NoData as check_plan does.
  MemoryModel(const Architecture& model, const ParallelPlan& plan, const Precision& precision,
              const EngineProfile& engine, const Gpu& gpu);

  // Memory on the stage with the least free memory, if the whole deployment has `sequences`
  // sequences with `tokens` tokens each (prompt and output so far). Contiguous engines reserve
  // `max_model_len` tokens for each sequence if that is more. Does not throw if it does not fit:
  // see MemoryBreakdown::fits. REQUIRES that no argument is negative.
  MemoryBreakdown load(std::int64_t sequences, std::int64_t tokens,
                       std::int64_t max_model_len = 0) const;

  // Memory with a KV cache that fills all free memory, as engines with continuous batching allocate
  // it at start.
  MemoryBreakdown full() const;

  // KV cache and state of one sequence of `tokens` tokens on one device of the stage that keeps the
  // most, in whole blocks if the cache is paged.
  Bytes kv_per_sequence(std::int64_t tokens) const;
  // KV cache of one sequence as a property of the model: all layers, without copies by tp and
  // without rounding to blocks.
  Bytes kv_of_model(std::int64_t tokens) const;

  // Free memory for the KV cache on one device of the stage with the least free memory; 0 if the
  // other parts do not fit.
  Bytes kv_pool() const;
  // The groups of layers to which blocks belong; one group if the engine does not distinguish
  // layers.
  const KvGroups& groups() const { return groups_; }
  // Bytes of a block in all layers of its group, on the device that keeps the most of them. With
  // two pools (KvGroups::separate_pools), of a block of the first pool and its share of the second
  // one. Recurrent state is not counted.
  Bytes kv_block() const;
  // Number of whole blocks in the pool: memory * utilization minus all other parts, divided by the
  // bytes of a block (as in vLLM). 0 if no block fits. `taken`: memory for other purposes (the
  // weights of a draft model, adapters). `with_block`: memory that is added to every block (the KV
  // cache of a draft model).
  std::int64_t kv_blocks(Bytes taken = Bytes(0), Bytes with_block = Bytes(0)) const;
  // Number of such blocks that the state of one sequence (recurrent layers, windows of compressed
  // attention) fills on the device where it fills the most; 0 without such layers, and for a model
  // that keeps nothing else.
  std::int64_t state_blocks() const;
  // Largest number of sequences of `tokens` tokens for which the whole deployment has memory,
  // without the limit max_num_seqs; 0 if none fits; at most 2^30.
  std::int64_t max_concurrency(std::int64_t tokens) const;

 private:
  MemoryBreakdown stage_load(int stage, std::int64_t sequences, std::int64_t tokens) const;
  Bytes reserved(const MemoryBreakdown& load) const;
  Bytes stage_block(int stage) const;
  // KV cache and state of one sequence.
  Bytes stage_sequence(int stage, std::int64_t tokens) const;

  Architecture model_;
  ParallelPlan plan_;
  Precision precision_;
  EngineProfile::Memory memory_;
  EngineProfile::Scheduler scheduler_;
  KvGroups groups_;
  Bytes capacity_;
  std::vector<Bytes> weights_;  // by stage
};

}  // namespace orrery
