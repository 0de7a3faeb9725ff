// Paged KV memory of one replica, as vLLM V1 keeps it: blocks of a fixed number of tokens,
// reference counts, one queue of free blocks, and a hash index for prefix caching.
//
// - A block is taken from the head of the free queue, and what was cached in it is forgotten then.
// - A sequence gives its blocks back from last to first, to the tail of the queue, so that its last
//   blocks are reused before its prefix.
// - A full block is identified by a hash of all tokens up to its end. A later prompt with the same
//   hash shares the block: its count of users rises, and it leaves the free queue.
// - Blocks with the same hash are not merged. The one that was published first is found; when that
// is
//   taken for other tokens, the next one is.
//
// A block that was never taken costs no memory: such blocks are first in the free queue, in the
// order of their ids.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace orrery {

using BlockId = std::int32_t;
inline constexpr BlockId kNoBlock = -1;

class BlockPool {
 public:
  // `blocks`: size of the pool, >= 0. `caching`: full blocks can be found again.
  BlockPool(std::int64_t blocks, bool caching);

  std::int64_t size() const { return size_; }
  std::int64_t free() const { return free_; }
  bool caching() const { return caching_; }

  // Takes the head of the free queue. `forgotten` receives the hash that was cached in it; 0 if
  // there was none. REQUIRES free() > 0.
  BlockId take(std::uint64_t* forgotten = nullptr);
  // Removes one user. A block without users goes to the tail of the free queue.
  void release(BlockId block);

  // The block cached under `hash`; -1 if there is none.
  BlockId find(std::uint64_t hash) const;
  // Adds one user to a cached block.
  void share(BlockId block);
  // Whether the block has no users and is in the free queue.
  bool idle(BlockId block) const { return blocks_[index(block)].users == 0; }
  // Caches a full block under `hash`, after others with the same hash. No effect on a cached block.
  void publish(BlockId block, std::uint64_t hash);
  // Forgets what a block with one user caches, because its content never came. No effect on a block
  // that others use too.
  void retract(BlockId block);

 private:
  struct Block {
    std::uint64_t hash = 0;  // 0: not findable
    std::int32_t users = 0;
    BlockId before = -1, after = -1;            // in the free queue
    BlockId twin_before = -1, twin_after = -1;  // ring of the blocks with its hash
  };
  static constexpr BlockId kEnd = -1;  // of the free queue
  static std::size_t index(BlockId b) { return static_cast<std::size_t>(std::int64_t{b} + 1); }
  void append(BlockId block);
  void unlink(BlockId block);
  std::size_t slot_of(std::uint64_t hash) const;
  void forget(BlockId block);
  void erase(std::size_t slot);
  void grow_table();

  std::vector<Block> blocks_;  // kEnd, then those that were taken once
  std::int64_t size_, free_;
  bool caching_;
  // Open addressing with linear probing, at most half full; deletion shifts back.
  struct Entry {
    std::uint64_t hash = 0;
    BlockId block = -1;  // the first of its ring
  };
  std::vector<Entry> table_;
  std::size_t entries_ = 0;
};

}  // namespace orrery
