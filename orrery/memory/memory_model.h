// What a GPU of a deployment holds, and how many sequences fit beside the weights.
//
// Per rank of one pipeline stage:
//   weights      every matrix at its format's stored size, scales included, divided among the ranks
//   that
//                share it (weights.h)
//   KV cache     per token and layer what the mixer keeps (kv_cache.h), in blocks or contiguous;
//                with a sliding window only in it where the cache is contiguous, or the engine
//                frees blocks outside of it (kv_groups.h)
//   activations  the largest set of buffers alive at once in a step (activations.h): of
//                max_num_batched_tokens tokens where batching is continuous, since such engines
//                measure that step at start; of the whole batch's prompts, at most that many
//                tokens, where it is static
//   workspace, graphs, context   constants of the engine (orrery/workload/plan/engine.h)
//   reserve      capacity * (1 - utilization): what the engine leaves alone
// `capacity` is what the driver reports as total (Gpu::memory.usable), a little less than the data
// sheet's. The stage with the least room decides.
//
// Sizes are Bytes; faces print GB = 1e9 and, where users expect it, GiB = 2^30.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/units.h"
#include "orrery/hardware/gpu.h"
#include "orrery/memory/kv_groups.h"
#include "orrery/model/architecture.h"
#include "orrery/workload/plan/engine.h"
#include "orrery/workload/plan/plan.h"

namespace orrery {

struct MemoryItem {
  std::string_view name;  // "weights", "kv_cache", ...
  Bytes size;
};

// One device's memory.
struct MemoryBreakdown {
  Bytes weights, kv_cache, activations, workspace, graphs, context;
  Bytes reserve;
  Bytes capacity;

  // The parts in use, in this order: weights, kv_cache, activations, workspace, graphs, context.
  std::array<MemoryItem, 6> items() const;
  Bytes total() const;  // sum of items(); the reserve is not in it
  // total + reserve <= capacity.
  bool fits() const;
  // One line with the two largest parts: "does not fit: needs 141.5 GB of the 76.5 GB that the
  // engine may fill (85.0 GB less 8.5 GB reserve); weights 137.9 GB, kv_cache 2.6 GB".
  std::string summary() const;
};

class MemoryModel {
 public:
  // Copies what it needs. `engine.scheduler` holds the limits that the engine really takes on this
  // GPU. InputError, Infeasible and NoData as check_plan.
  MemoryModel(const Architecture& model, const ParallelPlan& plan, const Precision& precision,
              const EngineProfile& engine, const Gpu& gpu);

  // The load of `sequences` sequences of the whole deployment that hold `tokens` tokens each
  // (prompt and output so far), on the stage with the least room. Contiguous engines reserve
  // `max_model_len` tokens for each if that is more. Never throws for lack of room: see fits().
  // REQUIRES no negative argument.
  MemoryBreakdown load(std::int64_t sequences, std::int64_t tokens,
                       std::int64_t max_model_len = 0) const;

  // With the KV cache filling all that is left, as a continuous engine allocates it at start.
  MemoryBreakdown full() const;

  // KV cache and state of one sequence of `tokens` tokens, in whole blocks where the cache is
  // paged, on one device of the stage that keeps the most.
  Bytes kv_per_sequence(std::int64_t tokens) const;
  // The model's own figure ("2.147 GB at 4096 tokens"): all layers, nothing copied by tp, no
  // rounding to blocks.
  Bytes kv_of_model(std::int64_t tokens) const;

  // Bytes left for the KV cache on one device of the stage with the least room; 0 when the rest
  // does not fit.
  Bytes kv_pool() const;
  // The groups of layers that blocks belong to. One if the engine does not tell them apart.
  const KvGroups& groups() const { return groups_; }
  // Bytes of a block, of all layers of its group, on the device that keeps the most of them.
  // With two pools (KvGroups::separate_pools) it is a block of the first pool and its share of the
  // second. Recurrent state is not counted.
  Bytes kv_block() const;
  // Whole blocks in the pool: memory * utilization less everything else, over the bytes of a block
  // (vLLM). 0 when nothing fits.
  // `taken`: of the room, for other things (a drafter's weights, adapters); `beside_block`: what
  // goes with every block (a drafter's cache).
  std::int64_t kv_blocks(Bytes taken = Bytes(0), Bytes beside_block = Bytes(0)) const;
  // Most sequences of `tokens` tokens that the whole deployment holds at once by memory alone
  // (max_num_seqs not applied); 0 when not one fits; never more than 2^30.
  std::int64_t max_concurrency(std::int64_t tokens) const;

 private:
  MemoryBreakdown stage_load(int stage, std::int64_t sequences, std::int64_t tokens) const;
  Bytes stage_block(int stage) const;
  // Of one sequence.
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
