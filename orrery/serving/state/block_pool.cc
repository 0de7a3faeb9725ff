#include "orrery/serving/state/block_pool.h"

#include <algorithm>

namespace orrery {

BlockPool::BlockPool(std::int64_t blocks, bool caching)
    : blocks_(1), size_(blocks), free_(blocks), caching_(caching) {
  // Reserved memory is not used before it is written, and reserving all of it avoids moving blocks.
  blocks_.reserve(static_cast<std::size_t>(std::min(blocks + 1, std::int64_t{1} << 18)));
  blocks_.front().before = blocks_.front().after = kEnd;
  if (caching) table_.resize(64);
}

void BlockPool::append(BlockId block) {
  Block& b = blocks_[index(block)];
  Block& end = blocks_[index(kEnd)];
  b.before = end.before;
  b.after = kEnd;
  blocks_[index(b.before)].after = block;
  end.before = block;
  ++free_;
}

void BlockPool::unlink(BlockId block) {
  const Block& b = blocks_[index(block)];
  blocks_[index(b.before)].after = b.after;
  blocks_[index(b.after)].before = b.before;
  --free_;
}

BlockId BlockPool::take(std::uint64_t* forgotten) {
  const std::size_t known = blocks_.size() - 1;
  if (known < static_cast<std::size_t>(size_)) {
    blocks_.emplace_back().users = 1;
    --free_;
    if (forgotten) *forgotten = 0;
    return static_cast<BlockId>(known);
  }
  const BlockId block = blocks_[index(kEnd)].after;
  unlink(block);
  Block& b = blocks_[index(block)];
  if (forgotten) *forgotten = b.hash;
  if (b.hash != 0) forget(block);
  b.users = 1;
  return block;
}

void BlockPool::release(BlockId block) {
  if (--blocks_[index(block)].users == 0) append(block);
}

void BlockPool::share(BlockId block) {
  if (blocks_[index(block)].users++ == 0) unlink(block);
}

std::size_t BlockPool::slot_of(std::uint64_t hash) const {
  const std::size_t mask = table_.size() - 1;
  std::size_t i = static_cast<std::size_t>(hash) & mask;
  while (table_[i].block >= 0 && table_[i].hash != hash) i = (i + 1) & mask;
  return i;
}

BlockId BlockPool::find(std::uint64_t hash) const {
  return caching_ ? table_[slot_of(hash)].block : -1;
}

void BlockPool::publish(BlockId block, std::uint64_t hash) {
  Block& b = blocks_[index(block)];
  if (!caching_ || b.hash != 0) return;
  b.hash = hash;
  if (2 * (entries_ + 1) > table_.size()) grow_table();
  Entry& e = table_[slot_of(hash)];
  if (e.block < 0) {
    ++entries_;
    e = {hash, block};
    b.twin_before = b.twin_after = block;
    return;
  }
  Block& first = blocks_[index(e.block)];
  b.twin_after = e.block;
  b.twin_before = first.twin_before;
  blocks_[index(b.twin_before)].twin_after = block;
  first.twin_before = block;
}

void BlockPool::forget(BlockId block) {
  Block& b = blocks_[index(block)];
  const std::size_t slot = slot_of(b.hash);
  b.hash = 0;
  if (b.twin_after == block) {
    erase(slot);
    return;
  }
  if (table_[slot].block == block) table_[slot].block = b.twin_after;
  blocks_[index(b.twin_before)].twin_after = b.twin_after;
  blocks_[index(b.twin_after)].twin_before = b.twin_before;
}

void BlockPool::retract(BlockId block) {
  const Block& b = blocks_[index(block)];
  if (b.users == 1 && b.hash != 0) forget(block);
}

void BlockPool::erase(std::size_t hole) {
  const std::size_t mask = table_.size() - 1;
  --entries_;
  table_[hole].block = -1;
  // Entries that were pushed past the hole move back into it.
  for (std::size_t i = (hole + 1) & mask; table_[i].block >= 0; i = (i + 1) & mask) {
    const std::size_t home = static_cast<std::size_t>(table_[i].hash) & mask;
    if (((i - home) & mask) >= ((i - hole) & mask)) {
      table_[hole] = table_[i];
      table_[i].block = -1;
      hole = i;
    }
  }
}

void BlockPool::grow_table() {
  std::vector<Entry> old(2 * table_.size());
  old.swap(table_);
  for (const Entry& e : old) {
    if (e.block >= 0) table_[slot_of(e.hash)] = e;
  }
}

}  // namespace orrery
