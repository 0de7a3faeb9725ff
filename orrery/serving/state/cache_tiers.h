// KV blocks kept outside of the GPU. Blocks that its prefix cache forgets go to host memory, and
// blocks that this drops go to a disk. A later prompt with the same prefix copies them back instead
// of computing them (vLLM's offloading connector, LMCache, SGLang's HiCache). In each tier the
// least recently used block makes room.
//
// Copies to the host overlap with the steps, because they use the other direction of the link.
// Copies back delay the step that needs them (ReplicaConfig::host_block_copy). A disk reads and
// writes one block after the other, so that a step waits for its reads and for the writes before
// them (DiskQueue).
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <unordered_map>

#include "orrery/serving/requests/sim_time.h"

namespace orrery {

// One store of blocks, which are known by their hashes.
class CacheTier {
 public:
  // `blocks`: capacity, >= 0; 0: the tier does not exist.
  explicit CacheTier(std::int64_t blocks) : size_(blocks) {}

  bool on() const { return size_ > 0; }
  bool has(std::uint64_t hash) const { return where_.contains(hash); }
  // Keeps a block that the tier above gave up. Without room the least recently used block is
  // dropped and returned; else 0 is returned. REQUIRES on().
  std::uint64_t keep(std::uint64_t hash);
  // Makes a block the most recently used. REQUIRES has(hash).
  void touch(std::uint64_t hash);

  std::int64_t kept() const { return kept_; }  // number of blocks copied into it so far

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
  // Index of the first tier that has the block; kTiers if none has.
  std::size_t find(std::uint64_t hash) const;
  // Keeps a block that the GPU gave up in the first tier, and what that drops in the next.
  void keep(std::uint64_t hash);
  void touch(std::size_t tier, std::uint64_t hash) { tiers_[tier].touch(hash); }

 private:
  std::array<CacheTier, kTiers> tiers_;
};

// The queue of an engine's disk.
class DiskQueue {
 public:
  DiskQueue(SimTime read, SimTime write) : read_(read), write_(write) {}
  // Queues `reads` blocks to be read at `now`, and `writes` blocks to be written after them.
  // Returns the time until the reads end, the wait for the disk included; 0 without reads.
  SimTime ask(SimTime now, std::int64_t reads, std::int64_t writes);

 private:
  SimTime read_, write_;  // time of one block
  SimTime free_;          // end of all queued work
};

}  // namespace orrery
