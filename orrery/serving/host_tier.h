// KV blocks kept in host memory: what the GPU's prefix cache forgets goes there, and a later prompt
// with the same prefix gets it back by a copy instead of computing it (vLLM's offloading connector,
// LMCache). Least recently used blocks make room.
//
// Blocks are copied out beside the steps, over the other direction of the link; copies back delay
// the step that needs them (ReplicaConfig::host_block_copy).
#pragma once

#include <cstdint>
#include <list>
#include <unordered_map>

namespace orrery {

class HostTier {
 public:
  // REQUIRES blocks >= 0; 0: there is none.
  explicit HostTier(std::int64_t blocks) : size_(blocks) {}

  bool on() const { return size_ > 0; }
  bool has(std::uint64_t hash) const { return where_.contains(hash); }
  // Keeps a block that the GPU gave up; the one used longest ago is dropped if there is no room.
  void keep(std::uint64_t hash);
  // A block is read; it becomes the last used. REQUIRES has(hash).
  void touch(std::uint64_t hash);

  std::int64_t kept() const { return kept_; }  // copies out, in all

 private:
  std::int64_t size_;
  std::list<std::uint64_t> order_;  // the first is dropped next
  std::unordered_map<std::uint64_t, std::list<std::uint64_t>::iterator> where_;
  std::int64_t kept_ = 0;
};

}  // namespace orrery
