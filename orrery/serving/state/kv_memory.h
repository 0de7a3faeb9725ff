// The KV memory of one replica: blocks of sequences, the prefix cache, sliding windows, contiguous
// extents, tiers below the GPU, and LoRA adapters that share the pool.
//
// A sequence has one row of blocks for every block_size tokens, with one block of each group of
// layers (orrery/memory/kv_groups.h). Groups take blocks from one pool, or the group with a sliding
// window has a pool of its own (window_pool()).
//
// A block whose tokens no other request has can be found by its own request alone, after this lost
// its blocks. Such blocks come into the index of the prefix cache when that happens (release()), so
// that requests that run to their end cost no look-ups. Where blocks without users are more than
// numbers (tiers, windows), they come into it at once.
//
// Blocks are counted and have no numbers (count_blocks()) while nothing is cached, since free
// blocks are all alike then. They get numbers (number_blocks()) when a request comes whose tokens
// others may have, or when a request loses its blocks and may look for them. Once such requests
// have computed their tokens again and nothing of them is left in the cache, blocks are counted
// again (count_again()).
//
// Taking a cached prefix takes two calls: cached_prefix() finds it, and take_prefix() takes what
// the last call of cached_prefix() found. Between them, prefix_blocks(), free_after_prefix(),
// window_free() and needed_at_once() answer for that prefix.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "orrery/memory/kv_groups.h"
#include "orrery/serving/requests/request.h"
#include "orrery/serving/state/block_pool.h"
#include "orrery/serving/state/cache_tiers.h"
#include "orrery/serving/state/extents.h"
#include "orrery/serving/state/sequence.h"
#include "orrery/workload/plan/engine.h"

namespace orrery {

// Properties of KV memory other than its number of blocks, and of what lies in it.
struct KvOptions {
  std::int64_t max_model_len = 0;  // longest prompt and output, tokens; 0: no limit
  // Contiguous memory: a sequence reserves one extent when it starts, for its prompt and output or
  // for max_model_len tokens (extents.h). REQUIRES no prefix caching.
  enum class Reserve { kNothing, kRequest, kMaxModelLen } reserve = Reserve::kNothing;
  // Blocks kept in host memory and on a disk (cache_tiers.h). REQUIRES prefix caching.
  std::int64_t host_blocks = 0, disk_blocks = 0;
  // Blocks of the pool that one LoRA adapter takes, from the start of the first sequence that uses
  // it to the end of the last (S-LoRA's unified paging). 0: adapters have slots of their own.
  std::int64_t adapter_blocks = 0;
  // Slots for LoRA adapters on the GPU: most different adapters of one step (vLLM's max_loras). 0:
  // there are no adapters with slots.
  std::int64_t adapter_slots = 0;
  // Blocks of the pool that a sequence takes for the state of its recurrent layers, from its first
  // block to its end, whatever its length (the blocks of Mamba layers in vLLM's hybrid KV cache
  // manager). 0: the model has no such layers.
  std::int64_t state_blocks = 0;
  // Groups of layers. Several groups REQUIRE none of the options above, and a scheduler that counts
  // windows (SchedulerTraits::windows).
  KvGroups groups;
};

class KvMemory {
 public:
  // Borrows `load`. `blocks`: size of the pool (of the one for layers without a window if there are
  // two). Of `engine` it takes the block size, the token budget, and whether prefixes are cached.
  KvMemory(const EngineProfile& engine, std::int64_t blocks, const RequestLoad& load,
           const KvOptions& options);

  // Counts blocks from now on, where a row is one block, no window gives it back and nothing else
  // takes blocks. REQUIRES that none was taken.
  void count_blocks() { counting_ = plain_ && !windowed() && !extents_ && adapter_blocks_ == 0; }
  bool counting() const { return counting_; }
  // Gives numbers to the blocks of all sequences, and to those that they take from now on. Few of
  // `all` have blocks that are not in `running`.
  void number_blocks(std::span<const Slot> running, std::span<Sequence> all);
  // Counts the blocks of all sequences again, as after count_blocks(). REQUIRES that
  // count_blocks() counted them, and that nobody looks for what is cached.
  void count_again(std::span<const Slot> running, std::span<Sequence> all);
  // Whether the prefix cache holds a row of the sequence that the found prefix leaves out.
  bool holds_beyond_prefix(const Sequence& s) const;
  // Counts `n` further blocks of sequences as taken. REQUIRES counting(), and that the blocks are
  // free. The sequences learn of them by catch_up().
  void take_counted(std::int64_t n) { pool_.count(n), held_blocks_ += n; }
  // The sequence holds the blocks of its first `tokens` tokens, which take_counted() has taken.
  void catch_up(Sequence& s, std::int64_t tokens) const;

  std::int32_t block_size() const { return block_size_; }  // tokens
  const BlockPool& pool() const { return pool_; }
  // The pool of the group with a sliding window; null if it shares pool().
  const BlockPool* window_pool() const { return window_pool_ ? &*window_pool_ : nullptr; }
  const KvGroups& groups() const { return groups_; }
  // Whether sequences give back blocks outside of sliding windows.
  bool windowed() const { return groups_.windowed > 0; }

  // ---- how many blocks ----

  // Blocks of pool() that a sequence of `tokens` tokens takes, without windows.
  std::int64_t blocks_for(std::int64_t tokens) const {
    return state_blocks_ +
           KvGroups::rows(tokens, block_size_) * (window_pool_ ? groups_.full : groups_.count());
  }
  // Blocks of pool() that the sequence holds, blocks given back included.
  std::int64_t blocks_of(const Sequence& s) const {
    return in_pool(s.blocks.size()) + s.counted + static_cast<std::int64_t>(s.state.size());
  }
  // Blocks of window_pool() that growing the sequence to `tokens` takes. REQUIRES window_pool().
  std::int64_t window_needed(const Sequence& s, std::int64_t tokens) const {
    return std::max<std::int64_t>(0, KvGroups::rows(tokens, block_size_) - s.window_rows);
  }
  // Most blocks that a sequence takes from its first `tokens` tokens until it has `end`.
  std::int64_t needed_until(std::int64_t end, std::int64_t tokens) const;
  // Most blocks that a running sequence takes until its last token.
  std::int64_t needed_until_end(const Sequence& s) const {
    return needed_until(s.cached_at_end(), s.room);
  }

  // ---- prefix cache ----

  // Leading prompt tokens of a request that the prefix cache holds on the GPU.
  std::int32_t cached_prompt(std::uint32_t request) const;
  // Finds the leading tokens of a sequence without KV cache that the prefix cache holds, on the GPU
  // or, after those, in host memory or on a disk. Returns their number: whole blocks, and at least
  // one token is left to compute.
  std::int32_t cached_prefix(const Sequence& s);
  // Blocks of the found prefix in pool(). The rest of the prefix needs new blocks. Blocks outside
  // of a window count, though they are not there.
  std::int64_t prefix_blocks() const { return in_pool(prefix_.size()); }
  // Free blocks of pool() and of window_pool() once the found prefix is taken.
  std::int64_t free_after_prefix() const { return pool_.free() - prefix_idle_; }
  std::int64_t window_free() const { return window_pool_->free() - window_prefix_idle_; }
  // Whether a sequence without KV cache needs more blocks at once than are free, whatever the
  // prefix cache holds of it: nobody else has blocks of its tokens. False: they may suffice.
  bool lacks_blocks(const Sequence& s) const {
    return plain_ && !windowed() && load_.requests[s.request].ids == 0 &&
           KvGroups::rows(s.tokens, block_size_) > pool_.free();
  }
  // Most blocks that a sequence of `tokens` tokens holds at once in addition to the found prefix:
  // its windowed groups give back blocks while it is computed (vLLM's
  // max_admission_blocks_per_request).
  std::int64_t needed_at_once(std::int64_t tokens) const;
  // Takes the found prefix for the sequence.
  void take_prefix(Sequence& s);
  // Makes the full blocks of the first `tokens` tokens known to the prefix cache.
  void publish(Sequence& s, std::int32_t tokens);
  // Takes the blocks that the sequence published, and no other sequence uses, out of the prefix
  // cache again: what they should hold never came.
  void retract(Sequence& s);

  // ---- a sequence's blocks ----

  // Takes blocks for `new_tokens` tokens beyond those computed. False, and nothing is taken, if too
  // few are free.
  bool grow(Sequence& s, std::int32_t new_tokens) {
    if (s.computed >= s.next_skip) skip(s, s.computed);
    const std::int32_t tokens = s.computed + new_tokens;
    return (tokens <= s.room && tokens < s.next_full) || grow_blocks(s, tokens);
  }
  // Takes blocks of pool() for the first `tokens` tokens. False, and nothing is taken, if too few
  // are free.
  bool reserve(Sequence& s, std::int64_t tokens);
  // Contiguous memory: takes the extent that the sequence reserves. False if no hole is large
  // enough. True where memory is paged.
  bool place(Sequence& s);
  // Gives back the blocks that are outside of the window once `computed` tokens are computed.
  void skip(Sequence& s, std::int64_t computed);
  // Counts `tokens` more tokens of the sequence as computed; fewer than 0: rolled back.
  void compute(Sequence& s, std::int32_t tokens) { s.computed += tokens, held_tokens_ += tokens; }
  // Gives back everything that the sequence holds. `may_return`: its request may come again and
  // look for its blocks in the prefix cache.
  void release(Sequence& s, bool may_return);

  // ---- adapters in the pool ----

  // Takes the sequence's adapter into the pool, or uses the one that is there.
  void take_adapter(Sequence& s);
  // Blocks that taking the sequence's adapter into the pool takes; 0 if it is there.
  std::int64_t adapter_blocks(const Sequence& s) const;
  // Blocks of all adapters in the pool.
  std::int64_t adapter_blocks() const {
    return static_cast<std::int64_t>(adapters_.size()) * adapter_blocks_;
  }
  // Adapters that came into the pool since the last call.
  std::int64_t adapter_loads() { return std::exchange(adapter_loads_, 0); }

  // ---- statistics ----

  // Tokens that fit into sequences' blocks in addition to those computed: internal fragmentation.
  // `uncounted`: computed tokens that compute() was not told of (DecodeGroup::uncounted).
  std::int64_t slack(std::int64_t uncounted) const {
    return held_blocks_ * block_size_ - (held_tokens_ + uncounted) * groups_.count();
  }
  // Free blocks that would suffice for the next sequence, but lie in holes too small for it:
  // external fragmentation. 0 if no sequence waits for them.
  std::int64_t stranded() const { return stranded_; }
  const CacheTiers& tiers() const { return tiers_; }
  // Blocks copied from a tier since the last call.
  std::int64_t fetched(CacheTiers::Tier tier) { return std::exchange(fetched_[tier], 0); }

 private:
  // A block of the found prefix that is not on the GPU.
  struct Elsewhere {
    std::size_t tier;
    std::uint64_t hash;
  };
  struct Adapter {
    std::int32_t id;
    std::int64_t users;  // sequences
    std::vector<BlockId> blocks;
  };

  // Number of blocks of pool() among `blocks` blocks in whole rows.
  std::int64_t in_pool(std::size_t blocks) const {
    const auto n = static_cast<std::int64_t>(blocks);
    return window_pool_ ? n / groups_.count() * groups_.full : n;
  }
  // Calls `of` for each sequence that has `blocks` blocks, above 0.
  template <class Blocks, class Of>
  void each_with_blocks(std::span<const Slot> running, std::span<Sequence> all,
                        const Blocks& blocks, const Of& of) const {
    std::int64_t left = held_blocks_;
    const auto visit = [&](Sequence& s) {
      if (blocks(s) == 0) return;
      left -= blocks(s);
      of(s);
    };
    for (const Slot slot : running) visit(all[slot]);
    for (auto at = all.begin(); left > 0 && at != all.end(); ++at) visit(*at);
  }
  BlockPool& pool_of(std::int32_t group) {
    return window_pool_ && group >= groups_.full ? *window_pool_ : pool_;
  }
  const BlockPool& pool_of(std::int32_t group) const {
    return window_pool_ && group >= groups_.full ? *window_pool_ : pool_;
  }
  bool grow_blocks(Sequence& s, std::int32_t tokens);
  // Takes blocks of window_pool() up to `tokens`. False, and nothing is taken, if too few are free.
  bool fill_window(Sequence& s, std::int64_t tokens);
  BlockId take_block();
  // Leading rows, at most `most`, whose blocks the pools have where they are needed; appends these.
  std::int32_t find_rows(std::uint32_t request, std::int32_t most,
                         std::vector<BlockId>& found) const;
  // Blocks of the groups [first, last) in one row. False if one is missing.
  bool find_row(std::uint32_t request, std::int32_t row, std::int32_t first, std::int32_t last,
                BlockId* found) const;
  std::uint64_t block_hash(std::uint32_t request, std::int32_t block) const;
  // Leading rows of a request that ids identify, which other requests may have too.
  std::int64_t named_rows(std::uint32_t request) const;
  void publish_row(const Sequence& s, std::int32_t row);
  // Updates room and next_full after a change of the sequence's blocks.
  void measure(Sequence& s) const;
  void drop_adapter(Sequence& s);

  std::int64_t max_model_len_, max_batched_tokens_;
  std::int32_t block_size_;
  KvGroups groups_;
  BlockPool pool_;
  std::optional<BlockPool> window_pool_;
  const RequestLoad& load_;
  std::vector<BlockId> prefix_;             // found by cached_prefix
  std::vector<Elsewhere> elsewhere_;        // found by cached_prefix below the GPU
  std::int64_t prefix_idle_ = 0;            // blocks of prefix_ that nobody uses, in pool()
  std::int64_t window_prefix_idle_ = 0;     // the same in window_pool()
  mutable std::vector<BlockId> looked_at_;  // memory of cached_prompt
  CacheTiers tiers_;
  KvOptions::Reserve reserve_;
  std::optional<Extents> extents_;
  std::int64_t adapter_blocks_, state_blocks_;
  bool plain_ = false;     // a row is one block of pool_, which takes nothing else of a sequence
  bool counting_ = false;  // blocks have no numbers
  std::vector<Adapter> adapters_;  // in the pool; a handful
  std::int64_t adapter_loads_ = 0;
  std::int64_t held_blocks_ = 0, held_tokens_ = 0;  // sums over sequences, given back included
  std::int64_t stranded_ = 0;
  std::array<std::int64_t, CacheTiers::kTiers> fetched_{};
};

}  // namespace orrery
