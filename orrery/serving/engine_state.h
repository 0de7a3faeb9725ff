// What a batch scheduler sees and changes: the sequences of one replica, who waits, who runs, and
// the KV memory.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "orrery/serving/block_pool.h"
#include "orrery/serving/request.h"

namespace orrery {

// Limits that a scheduler works under; names and meaning as in vLLM.
struct SchedulerLimits {
  std::int64_t max_num_batched_tokens = 8192;
  std::int64_t max_num_seqs = 1024;
  std::int64_t max_model_len = 0;                 // 0: no limit
  std::int64_t long_prefill_token_threshold = 0;  // 0: none
  std::int32_t block_size = 16;                   // tokens
  bool chunked_prefill = true;
  bool reserve_full = true;    // a newcomer's whole present sequence must fit in free blocks
  std::int64_t max_loras = 0;  // different adapters that run together; 0: there are none
  bool priority = false;       // lower Request::priority first; false: first come, first served
};

using Slot = std::uint32_t;  // of a sequence on its replica

// A request on a replica.
struct Sequence {
  std::uint32_t request = 0;  // index in the load
  std::int32_t prompt = 0;
  std::int32_t target = 0;    // prompt and output: tokens when it is done
  std::int32_t tokens = 0;    // prompt and output, a token that a running step makes included
  std::int32_t computed = 0;  // of which the KV cache is there, or being made by a running step
  std::int32_t made = 0;      // output tokens that are out
  std::int32_t found = 0;     // tokens that the prefix cache held when it was last admitted
  std::int32_t priority = 0;
  std::int32_t adapter = -1;
  std::int32_t drafts = 0;     // proposed tokens after `tokens`, to be verified by its next step
  std::int32_t published = 0;  // leading blocks that the prefix cache knows
  bool entered = false;        // it was part of a step before
  SimTime arrival, last_token;
  std::vector<BlockId> blocks;

  // Tokens still to compute: 1 and its drafts for one that decodes, 0 when its last token is being
  // made.
  std::int32_t wanted() const { return tokens == target ? 0 : tokens + drafts - computed; }
};

// A sequence's share of a step.
struct Work {
  Slot slot;
  std::int32_t new_tokens;
};

class EngineState {
 public:
  EngineState(const SchedulerLimits& limits, std::int64_t kv_blocks, bool prefix_caching,
              const RequestLoad& load);

  const SchedulerLimits& limits() const { return limits_; }
  Sequence& at(Slot slot) { return sequences_[slot]; }
  const Sequence& at(Slot slot) const { return sequences_[slot]; }

  std::deque<Slot> waiting;
  std::vector<Slot> running;

  const BlockPool& pool() const { return pool_; }
  std::int64_t blocks_for(std::int64_t tokens) const {
    return (tokens + limits_.block_size - 1) / limits_.block_size;
  }

  // A request becomes a sequence, at the end of `waiting`, or before those of lower priority.
  Slot enter(std::uint32_t request);
  // A done sequence gives everything back.
  void leave(Slot slot);

  // Leading tokens of a sequence without KV cache that the prefix cache holds: whole blocks, at
  // least one token is left to compute.
  std::int32_t cached_prefix(const Sequence& s);
  // Takes what cached_prefix found last, for this sequence.
  void take_prefix(Sequence& s);
  // Blocks that taking it leaves free for others.
  std::int64_t free_beside_prefix() const;

  // Blocks for `new_tokens` beyond those computed; false, and nothing taken, if there are too few.
  bool grow(Sequence& s, std::int32_t new_tokens);
  // Its KV cache is given back, to be computed again; it waits at the head.
  void evict(Slot slot);

 private:
  std::uint64_t block_hash(const Sequence& s, std::int32_t block) const;
  void enqueue(Slot slot);
  void release_blocks(Sequence& s);

  SchedulerLimits limits_;
  BlockPool pool_;
  const RequestLoad& load_;
  std::vector<Sequence> sequences_;
  std::vector<Slot> unused_;
  std::vector<BlockId> prefix_;   // what cached_prefix found
  std::int64_t prefix_idle_ = 0;  // of these in the free queue
};

}  // namespace orrery
