#include "orrery/serving/state/block_pool.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "orrery/base/index.h"

namespace orrery {

BlockPool::BlockPool(std::int64_t blocks, bool caching)
    : size_(blocks), free_(blocks), caching_(caching), queue_(64) {
  if (caching) table_.resize(64);
}

void BlockPool::make_room(std::int64_t more) {
  // Places of shared blocks are used again, unless few are.
  const std::int64_t idle = free_ - (size_ - taken_);
  const auto capacity = queue_.size();
  std::size_t room = 2 * static_cast<std::size_t>(idle) >= capacity ? 2 * capacity : capacity;
  while (static_cast<std::int64_t>(room) < idle + more) room *= 2;
  std::vector<BlockId> old(room);
  old.swap(queue_);
  const std::int64_t head = std::exchange(head_, 0), tail = std::exchange(tail_, 0);
  for (std::int64_t place = head; place < tail; ++place) {
    const BlockId b = old[index(place) & (capacity - 1)];
    if (b == kNoBlock) continue;
    if (cached(b)) records_[index(b)].place = tail_;
    queued(tail_++) = b;
  }
}

// Takes the head of the free queue, with what is cached in it. REQUIRES free() > 0.
BlockId BlockPool::next_free() {
  --free_;
  if (taken_ < size_) return static_cast<BlockId>(taken_++);
  BlockId block = kNoBlock;
  while (block == kNoBlock) block = queued(head_++);
  return block;
}

BlockId BlockPool::take(std::uint64_t* forgotten) {
  const BlockId block = next_free();
  const bool had = cached(block);
  if (forgotten) *forgotten = had ? records_[index(block)].hash : 0;
  if (had) forget(block);
  return block;
}

void BlockPool::take(std::int64_t n, std::vector<BlockId>& out) {
  if (n <= 1) {
    if (n == 1) out.push_back(take());
    return;
  }
  const std::size_t before = out.size(), mask = queue_.size() - 1;
  out.resize(before + static_cast<std::size_t>(n));
  BlockId* to = out.data() + before;
  BlockId* const end = out.data() + out.size();
  BlockId* const never = to + std::min(n, size_ - taken_);  // the end of those never taken
  std::iota(to, never, static_cast<BlockId>(taken_));
  taken_ += never - to;
  to = never;
  std::int64_t head = head_;
  if (cached_.empty()) {  // nothing was ever shared, so that the ring has no gaps
    for (; to != end; ++to) *to = queue_[index(head++) & mask];
  }
  for (; to != end; ++to) {
    do *to = queue_[index(head++) & mask];
    while (*to == kNoBlock);
    if (cached(*to)) forget(*to);
  }
  head_ = head;
  free_ -= n;
}

void BlockPool::forget_numbers() {
  taken_ = head_ = tail_ = 0;
  std::fill(cached_.begin(), cached_.end(), std::uint8_t{0});
  if (entries_ > 0) std::fill(table_.begin(), table_.end(), Entry{});
  entries_ = 0;
}

void BlockPool::release(BlockId block) {
  if (cached(block)) {
    Record& r = records_[index(block)];
    if (--r.users > 0) return;
    append(block);
    r.place = tail_ - 1;
  } else {
    append(block);
  }
}

void BlockPool::release(std::span<const BlockId> blocks) {
  const auto more = static_cast<std::int64_t>(blocks.size());
  if (tail_ - head_ + more > static_cast<std::int64_t>(queue_.size())) make_room(more);
  // There is room for all of them: one that stays out of the queue is written, and the next one
  // over it.
  BlockId* const queue = queue_.data();
  const std::size_t mask = queue_.size() - 1;
  std::int64_t tail = tail_;
  for (std::size_t i = blocks.size(); i-- > 0;) {
    const BlockId block = blocks[i];
    queue[index(tail) & mask] = block;
    bool unused = block != kNoBlock;
    if (cached(block)) {
      Record& r = records_[index(block)];
      unused = --r.users == 0;
      if (unused) r.place = tail;
    }
    tail += unused;
  }
  free_ += tail - tail_;
  tail_ = tail;
}

void BlockPool::share(BlockId block) {
  Record& r = records_[index(block)];
  if (r.users++ > 0) return;
  queued(r.place) = kNoBlock;
  --free_;
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
  if (!caching_ || cached(block)) return;
  if (index(block) >= cached_.size()) {
    records_.resize(static_cast<std::size_t>(taken_));
    cached_.resize(records_.size());
  }
  Record& b = records_[index(block)];
  b.hash = hash;
  b.users = 1;
  cached_[index(block)] = 1;
  if (2 * (entries_ + 1) > table_.size()) grow_table();
  Entry& e = table_[slot_of(hash)];
  if (e.block < 0) {
    ++entries_;
    e = {hash, block};
    b.twin_before = b.twin_after = block;
    return;
  }
  Record& first = records_[index(e.block)];
  b.twin_after = e.block;
  b.twin_before = first.twin_before;
  records_[index(b.twin_before)].twin_after = block;
  first.twin_before = block;
}

void BlockPool::forget(BlockId block) {
  Record& b = records_[index(block)];
  cached_[index(block)] = 0;
  const std::size_t slot = slot_of(b.hash);
  b.hash = 0;
  if (b.twin_after == block) {
    erase(slot);
    return;
  }
  if (table_[slot].block == block) table_[slot].block = b.twin_after;
  records_[index(b.twin_before)].twin_after = b.twin_after;
  records_[index(b.twin_after)].twin_before = b.twin_before;
}

void BlockPool::retract(BlockId block) {
  if (cached(block) && records_[index(block)].users == 1) forget(block);
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
