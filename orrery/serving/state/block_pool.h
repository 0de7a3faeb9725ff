// Paged KV memory of one replica, as vLLM V1 keeps it: blocks of a fixed number of tokens,
// reference counts, one queue of free blocks, and a hash index for prefix caching.
//
// - A block is taken from the head of the free queue, and what was cached in it is forgotten then.
// - A sequence gives its blocks back from last to first, to the tail of the queue, so that its last
//   blocks are reused before its prefix.
// - A full block is identified by a hash of all tokens up to its end. A later prompt with the same
//   hash shares the block: its count of users rises, and it leaves the free queue.
// - Blocks with the same hash are not merged. The one that was published first is found; when that
//   is taken for other tokens, the next one is.
//
// A block that was never taken costs no memory: such blocks are first in the free queue, in the
// order of their ids. Blocks with a hash have a record; all others are numbers in the free queue or
// in the list of their one user, so that taking and giving back many of them is copying numbers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "orrery/base/index.h"

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
  // Takes `n` blocks, one after the other, and appends them to `out`; none if n < 1.
  // REQUIRES free() >= n.
  void take(std::int64_t n, std::vector<BlockId>& out);
  // Takes `n` blocks without their numbers; a negative `n` gives blocks back. REQUIRES that no
  // block was ever taken with its number, and free() >= n.
  void count(std::int64_t n) { free_ -= n; }
  // Gives numbers to `n` of the blocks that were taken without them, and appends the numbers to
  // `out`. After this, blocks that count() takes are to be numbered before any other call.
  void number(std::int64_t n, std::vector<BlockId>& out) {
    free_ += n;
    take(n, out);
  }
  // The reverse: no taken block has a number any more, and nothing is cached. REQUIRES that nobody
  // looks for what is.
  void forget_numbers();
  // Removes one user. A block without users goes to the tail of the free queue.
  void release(BlockId block);

  // The same for several, from the last to the first, without those that are kNoBlock.
  void release(std::span<const BlockId> blocks);

  // The block cached under `hash`; -1 if there is none.
  BlockId find(std::uint64_t hash) const;
  // Adds one user to a cached block.
  void share(BlockId block);
  // Whether a cached block has no users and is in the free queue.
  bool idle(BlockId block) const { return records_[index(block)].users == 0; }
  // Caches a full block under `hash`, after others with the same hash. No effect on a cached block.
  void publish(BlockId block, std::uint64_t hash);
  // Forgets what a block with one user caches, because its content never came. No effect on a block
  // that others use too.
  void retract(BlockId block);

 private:
  // A cached block. Any other has one user until it is in the free queue.
  struct Record {
    std::uint64_t hash = 0;
    std::int64_t place = 0;  // in the free queue
    std::int32_t users = 0;
    BlockId twin_before = -1, twin_after = -1;  // ring of the blocks with its hash
  };
  bool cached(BlockId b) const { return index(b) < cached_.size() && cached_[index(b)] != 0; }
  BlockId& queued(std::int64_t place) {
    return queue_[static_cast<std::size_t>(place) & (queue_.size() - 1)];
  }
  void append(BlockId block) {
    if (tail_ - head_ == static_cast<std::int64_t>(queue_.size())) make_room();
    queued(tail_++) = block;
    ++free_;
  }
  BlockId next_free();
  // Makes room for `more` further blocks in the ring.
  void make_room(std::int64_t more = 1);
  std::size_t slot_of(std::uint64_t hash) const;
  void forget(BlockId block);
  void erase(std::size_t slot);
  void grow_table();

  std::int64_t size_, free_;
  std::int64_t taken_ = 0;  // blocks that were taken once
  bool caching_;
  // The free queue behind the blocks that were never taken: a ring, whose places [head, tail) hold
  // blocks, or kNoBlock where one was shared.
  std::vector<BlockId> queue_;
  std::int64_t head_ = 0, tail_ = 0;
  std::vector<Record> records_;
  std::vector<std::uint8_t> cached_;  // whether the block has a hash
  // Open addressing with linear probing, at most half full; deletion shifts back.
  struct Entry {
    std::uint64_t hash = 0;
    BlockId block = -1;  // the first of its ring
  };
  std::vector<Entry> table_;
  std::size_t entries_ = 0;
};

}  // namespace orrery
