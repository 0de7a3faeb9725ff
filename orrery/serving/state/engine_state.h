// What a batch scheduler sees and changes: the sequences of one replica, who waits, who runs, and
// the KV memory.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/memory/kv_groups.h"
#include "orrery/serving/requests/request.h"
#include "orrery/serving/state/block_pool.h"
#include "orrery/serving/state/cache_tiers.h"
#include "orrery/serving/state/decode_group.h"
#include "orrery/serving/state/extents.h"

namespace orrery {

// Which of those that wait goes first.
enum class QueueOrder : std::uint8_t {
  kFcfs,      // as they arrived; an evicted one goes to the head
  kPriority,  // lowest Request::priority, then as they arrived; evicted ones too
  kSjf,       // fewest tokens to compute, then as they arrived; evicted ones too
  kLpm,       // as fcfs, but for what the scheduler sorts itself: SGLang's longest cached prefix
};
// "fcfs", "priority", "sjf" or "lpm". InputError.
QueueOrder queue_order(std::string_view name);

// Limits that a scheduler works under; names and meaning as in vLLM.
struct SchedulerLimits {
  std::int64_t max_num_batched_tokens = 8192;
  std::int64_t max_num_seqs = 1024;
  std::int64_t max_model_len = 0;                 // 0: no limit
  std::int64_t long_prefill_token_threshold = 0;  // 0: none
  std::int32_t block_size = 16;                   // tokens
  bool chunked_prefill = true;
  bool reserve_full = true;        // a newcomer's whole present sequence must fit in free blocks
  bool mixed_chunk = false;        // SGLang: decodes join the steps that carry prompts
  std::int64_t recv_interval = 1;  // SGLang: decode steps between looks for newcomers
  QueueOrder order = QueueOrder::kFcfs;
  std::int64_t max_loras = 0;  // different adapters that run together; 0: there are none
};

// What KV memory is beside a pool of blocks.
struct KvOptions {
  // Contiguous: a sequence reserves, when it starts, an extent for its prompt and output, or for
  // max_model_len tokens (extents.h). REQUIRES no prefix caching.
  enum class Reserve { kNothing, kRequest, kMaxModelLen } reserve = Reserve::kNothing;
  // Kept in host memory and on a disk (cache_tiers.h). REQUIRES prefix caching
  std::int64_t host_blocks = 0, disk_blocks = 0;
  // Adapters lie in the pool beside the KV cache, so many blocks each (S-LoRA's unified paging):
  // from when the first sequence that needs one runs until none does. 0: they have slots of their
  // own (SchedulerLimits::max_loras).
  std::int64_t adapter_blocks = 0;
  // Groups of layers with blocks of their own from the one pool; those outside of a sliding window
  // are given back. Several REQUIRE none of the above, and a scheduler that counts so (vllm,
  // trtllm, trtllm-max-utilization; sglang where they have two pools, KvGroups::separate_pools).
  KvGroups groups;
  bool whole_prompts = false;  // the scheduler takes blocks for a whole prompt when it admits it
};

// A request on a replica.
struct Sequence {
  std::uint32_t request = 0;  // index in the load
  std::int32_t prompt = 0;
  std::int32_t target = 0;    // prompt and output: tokens when it is done
  std::int32_t tokens = 0;    // prompt and output, a token that a running step makes included
  std::int32_t computed = 0;  // of which the KV cache is there, or being made by a running step
  std::int32_t made = 0;      // output tokens that are out
  std::int32_t start = 0;     // prompt and output when it was last admitted
  std::int32_t found = 0;     // tokens that the prefix cache held when it was last admitted
  std::int32_t priority = 0;
  std::int32_t adapter = -1;
  std::int32_t drafts = 0;     // proposed tokens after `tokens`, to be verified by its next step
  std::int32_t published = 0;  // leading blocks that the prefix cache knows
  std::int64_t extent = -1;    // start of its contiguous memory
  std::int32_t room = 0;       // tokens that its blocks hold
  std::int32_t next_full = 0;  // tokens with which the next block to publish is full
  std::int32_t uncounted = 0;  // prompt tokens that no step has taken up (Replica::prompt_ahead)
  // Steps under way that make tokens of it, where it must wait for them (pipeline stages).
  std::int32_t in_flight = 0;
  bool has_adapter = false;  // is one of those for whom its adapter is in the pool
  bool parked = false;       // evicted with steps in flight: in no list until they have ended
  bool entered = false;      // it was part of a step before
  std::int64_t ticket = -1;  // place in the order of `running`
  std::int64_t step = -1;    // the last that made a token of it alone (DecodeGroup); -1: none
  std::int64_t joined = -1;  // step in which it joined the decode group; -1: it is apart
  std::int32_t skipped = 0;  // leading rows that its windowed groups gave back
  std::int32_t next_skip = INT32_MAX;  // computed tokens with which they give back the next
  // Leading rows for which blocks of the windowed group's own pool were taken.
  std::int32_t window_rows = 0;
  SimTime arrival, last_token;
  std::vector<BlockId> blocks;  // row by row, one of each group; kNoBlock: given back

  // Tokens still to compute: 1 and its drafts for one that decodes, 0 when its last token is being
  // made, or one that it must wait for.
  std::int32_t wanted() const {
    return tokens == target || in_flight > 0 ? 0 : tokens + drafts - computed;
  }
  // Since it was admitted a token of it has been planned: it computes one token a step.
  bool decodes() const { return tokens > start; }
  // Tokens in the KV cache when it is done: the last one is never computed.
  std::int32_t cached_at_end() const { return target - 1; }
};

// A sequence's share of a step.
struct Work {
  Slot slot;
  std::int32_t new_tokens;
};

class EngineState {
 public:
  EngineState(const SchedulerLimits& limits, std::int64_t kv_blocks, bool prefix_caching,
              const RequestLoad& load, const KvOptions& kv = {});

  const SchedulerLimits& limits() const { return limits_; }
  Sequence& at(Slot slot) { return sequences_[slot]; }
  const Sequence& at(Slot slot) const { return sequences_[slot]; }

  std::deque<Slot> waiting;
  bool hold_prompts = false;  // the next step carries none (engine.h, balance_timeout)
  std::vector<Slot> running;
  DecodeGroup decode_group;

  const BlockPool& pool() const { return pool_; }
  // The windowed group's own; nullptr if it has none.
  const BlockPool* window_pool() const { return window_pool_ ? &*window_pool_ : nullptr; }
  // That hold so many tokens, of all groups that share the pool.
  std::int64_t blocks_for(std::int64_t tokens) const {
    return KvGroups::rows(tokens, limits_.block_size) *
           (window_pool_ ? groups_.full : groups_.count());
  }
  // Of these a sequence has.
  std::int64_t blocks_of(const Sequence& s) const {
    const auto blocks = static_cast<std::int64_t>(s.blocks.size());
    return window_pool_ ? blocks / groups_.count() * groups_.full : blocks;
  }
  // Blocks of the windowed group's own pool that growing to `tokens` takes. REQUIRES window_pool().
  std::int64_t window_needed(const Sequence& s, std::int64_t tokens) const {
    return std::max<std::int64_t>(0, KvGroups::rows(tokens, limits_.block_size) - s.window_rows);
  }
  // Free in it beside the prefix that cached_prefix found last.
  std::int64_t window_free() const { return window_pool_->free() - window_prefix_idle_; }
  const KvGroups& groups() const { return groups_; }
  // Whether windows give blocks back.
  bool windowed() const { return groups_.windowed > 0; }

  // A request becomes a sequence of `output` tokens, at its place in `waiting`.
  Slot enter(std::uint32_t request, std::int32_t output);
  // A sequence whose prompt was computed elsewhere, its first token made: in no list.
  Slot adopt(std::uint32_t request);
  // Takes blocks for the prompt of an adopted sequence and counts it as computed; false, and
  // nothing taken, if there are too few. Sequence::found: tokens that the prefix cache held.
  // REQUIRES paged memory.
  bool take_prompt_blocks(Slot slot);
  // A done sequence gives everything back.
  void leave(Slot slot);

  // Leading prompt tokens of a request that the prefix cache holds on the GPU; nothing is taken.
  std::int32_t cached_prompt(std::uint32_t request) const;

  // Leading tokens of a sequence without KV cache that the prefix cache holds, on the GPU or after
  // those in host memory or on disk: whole blocks, at least one token is left to compute.
  std::int32_t cached_prefix(const Sequence& s);
  // Takes what cached_prefix found last, for this sequence.
  void take_prefix(Sequence& s);
  // Of these in blocks of the GPU; what is elsewhere needs new blocks. Those that a window does not
  // need count, though they are not there.
  std::int64_t prefix_blocks() const {
    const auto blocks = static_cast<std::int64_t>(prefix_.size());
    return window_pool_ ? blocks / groups_.count() * groups_.full : blocks;
  }
  // Blocks that a sequence of `tokens` needs at once, at most, beside this prefix: its windowed
  // groups give blocks back as it is computed (vLLM's max_admission_blocks_per_request).
  std::int64_t needed_at_once(std::int64_t tokens) const;
  // Most blocks that a sequence takes beyond those for its first `tokens` until it has `end`.
  std::int64_t needed_until(std::int64_t end, std::int64_t tokens) const;
  // Of one that runs, until its last token.
  std::int64_t needed_until_end(const Sequence& s) const {
    return needed_until(s.cached_at_end(), s.room);
  }
  // Blocks that taking it leaves free for others.
  std::int64_t free_after_prefix() const;

  // Blocks for `new_tokens` beyond those computed; false, and nothing taken, if there are too few.
  bool grow(Sequence& s, std::int32_t new_tokens) {
    if (s.computed >= s.next_skip) skip(s, s.computed);
    const std::int32_t tokens = s.computed + new_tokens;
    return (tokens <= s.room && tokens < s.next_full) || grow_blocks(s, tokens);
  }
  // With `computed` tokens computed: blocks outside of the window go back to the pool.
  void skip(Sequence& s, std::int64_t computed);
  // Leading full blocks with the first `tokens` can be found from now on.
  void publish(Sequence& s, std::int32_t tokens);
  // Blocks for the first `tokens`, to be filled later; false, and nothing taken, likewise.
  bool reserve(Sequence& s, std::int64_t tokens);
  // The head of `waiting` runs: it takes what cached_prefix found last, and blocks for `new_tokens`
  // more. REQUIRES that they are there.
  Slot admit(std::int32_t new_tokens);
  // Blocks that its adapter needs in the pool and does not have.
  std::int64_t adapter_blocks(const Sequence& s) const;
  // All that adapters have.
  std::int64_t adapter_blocks() const {
    return static_cast<std::int64_t>(adapters_.size()) * adapter_blocks_;
  }
  // Adapters that came into the pool since it was last asked.
  std::int64_t adapter_loads() { return std::exchange(adapter_loads_, 0); }
  // It is the last of `running`.
  void run(Slot slot);
  // The i-th of `running` is evicted, and listed. Returns it.
  Slot evict_running(std::size_t i, std::vector<Slot>& evicted);
  // grow for the i-th of `running`; while blocks lack, the last one is evicted. False if that was
  // itself.
  bool grow_evicting(std::size_t i, std::int32_t new_tokens, std::vector<Slot>& evicted);
  // Contiguous memory: the extent that the sequence reserves; false if there is no hole for it.
  // True where memory is paged.
  bool place(Sequence& s);
  // Its KV cache is given back, to be computed again; it waits at the head (QueueOrder).
  void evict(Slot slot);
  // A parked one waits at the head.
  void unpark(Slot slot);
  // A step computes `tokens` of it; fewer than 0: rolled back.
  void compute(Sequence& s, std::int32_t tokens) { s.computed += tokens, held_tokens_ += tokens; }

  // Tokens that fit in sequences' blocks beside those computed: internal fragmentation.
  std::int64_t slack() const {
    return held_blocks_ * limits_.block_size -
           (held_tokens_ + decode_group.uncounted()) * groups_.count();
  }
  // Free blocks that were enough for the sequence next in line, but in holes too small for it:
  // external fragmentation. 0 while nobody waits for them.
  std::int64_t stranded() const { return stranded_; }
  const CacheTiers& tiers() const { return tiers_; }
  // Blocks copied from a tier since it was last asked.
  std::int64_t fetched(CacheTiers::Tier tier) { return std::exchange(fetched_[tier], 0); }

 private:
  Slot make(std::uint32_t request, std::int32_t output);
  BlockPool& pool_of(std::int32_t group) {
    return window_pool_ && group >= groups_.full ? *window_pool_ : pool_;
  }
  const BlockPool& pool_of(std::int32_t group) const {
    return window_pool_ && group >= groups_.full ? *window_pool_ : pool_;
  }
  // Blocks of the windowed group's own pool up to `tokens`; false, and nothing taken, if too few.
  bool fill_window(Sequence& s, std::int64_t tokens);
  BlockId take_block();
  // Leading rows, of `most`, that the pool still has where they are needed; their blocks.
  std::int32_t find_rows(std::uint32_t request, std::int32_t most,
                         std::vector<BlockId>& found) const;
  // Of groups [first, last) in a row; false if one is not there.
  bool find_row(std::uint32_t request, std::int32_t row, std::int32_t first, std::int32_t last,
                BlockId* found) const;
  std::uint64_t block_hash(std::uint32_t request, std::int32_t block) const;
  void enqueue(Slot slot);
  bool as_they_come() const {
    return limits_.order == QueueOrder::kFcfs || limits_.order == QueueOrder::kLpm;
  }
  bool goes_before(Slot a, Slot b) const;
  bool grow_blocks(Sequence& s, std::int32_t tokens);
  // Its blocks, or those published, have changed.
  void measure(Sequence& s) const;
  void release_blocks(Sequence& s);
  void take_adapter(Sequence& s);
  void drop_adapter(Sequence& s);

  SchedulerLimits limits_;
  KvGroups groups_;
  BlockPool pool_;
  std::optional<BlockPool> window_pool_;
  const RequestLoad& load_;
  std::vector<Sequence> sequences_;
  std::vector<Slot> unused_;
  std::vector<BlockId> prefix_;             // what cached_prefix found
  mutable std::vector<BlockId> looked_at_;  // of cached_prompt
  std::int64_t prefix_idle_ = 0;            // of these in the free queue
  std::int64_t window_prefix_idle_ = 0;     // likewise, of the windowed group's own pool
  struct Elsewhere {
    std::size_t tier;
    std::uint64_t hash;
  };
  std::vector<Elsewhere> elsewhere_;  // likewise, outside of the GPU
  CacheTiers tiers_;
  KvOptions::Reserve reserve_;
  std::optional<Extents> extents_;
  struct Adapter {
    std::int32_t id;
    std::int64_t users;
    std::vector<BlockId> blocks;
  };
  std::int64_t adapter_blocks_;
  std::vector<Adapter> adapters_;  // in the pool; a handful
  std::int64_t adapter_loads_ = 0;
  std::int64_t held_blocks_ = 0, held_tokens_ = 0;  // sums over sequences, given back included
  std::int64_t stranded_ = 0;
  std::array<std::int64_t, CacheTiers::kTiers> fetched_{};
  std::int64_t tickets_ = 0;
};

}  // namespace orrery
