// KV blocks kept outside of the GPU: what its prefix cache forgets goes to host memory, what that
// drops goes to a disk, and a later prompt with the same prefix gets them back by a copy instead of
// computing them (vLLM's offloading connector, LMCache, SGLang's HiCache). In each, least recently
// used blocks make room.
//
// Copies to the host run beside the steps, over the other direction of the link; copies back delay
// the step that needs them (ReplicaConfig::host_block_copy). A disk reads and writes one block
// after the other: a step waits for its reads and for the writes before them (DiskQueue).
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <unordered_map>

#include "orrery/serving/requests/sim_time.h"

namespace orrery {

// One store of blocks.
class CacheTier {
 public:
  // REQUIRES blocks >= 0; 0: there is none.
  explicit CacheTier(std::int64_t blocks) : size_(blocks) {}

  bool on() const { return size_ > 0; }
  bool has(std::uint64_t hash) const { return where_.contains(hash); }
  // Keeps a block that the tier above gave up. The one used longest ago is dropped if there is no
  // room, and returned; else 0. REQUIRES on().
  std::uint64_t keep(std::uint64_t hash);
  // A block is read; it becomes the last used. REQUIRES has(hash).
  void touch(std::uint64_t hash);

  std::int64_t kept() const { return kept_; }  // copies into it, in all

 private:
  std::int64_t size_;
  std::list<std::uint64_t> order_;  // the first is dropped next
  std::unordered_map<std::uint64_t, std::list<std::uint64_t>::iterator> where_;
  std::int64_t kept_ = 0;
};

// Host memory, and a disk below it.
class CacheTiers {
 public:
  enum Tier : std::uint8_t { kHost, kDisk };
  static constexpr std::size_t kTiers = 2;
  CacheTiers(std::int64_t host_blocks, std::int64_t disk_blocks)
      : tiers_{CacheTier(host_blocks), CacheTier(disk_blocks)} {}

  bool on() const { return tiers_[kHost].on() || tiers_[kDisk].on(); }
  const CacheTier& operator[](Tier tier) const { return tiers_[tier]; }
  // The first tier that has the block; kTiers: none.
  std::size_t find(std::uint64_t hash) const;
  // A block that the GPU gave up: to the first tier there is, and what that drops to the next.
  void keep(std::uint64_t hash);
  void touch(std::size_t tier, std::uint64_t hash) { tiers_[tier].touch(hash); }

 private:
  std::array<CacheTier, kTiers> tiers_;
};

// When the disk of an engine has done what it was asked.
class DiskQueue {
 public:
  DiskQueue(SimTime read, SimTime write) : read_(read), write_(write) {}
  // At `now` so many blocks are asked for, and so many are to be written behind them: how long the
  // reads take, the wait for the disk included. 0 without reads.
  SimTime ask(SimTime now, std::int64_t reads, std::int64_t writes);

 private:
  SimTime read_, write_;  // of a block
  SimTime free_;
};

}  // namespace orrery
