// Contiguous KV memory, as engines before paging allocate it (FasterTransformer, Orca). A sequence
// reserves one extent when it starts, in the first hole that is large enough. Reserved memory that
// a sequence does not use is internal fragmentation. Holes that are too small for the next sequence
// are external fragmentation.
#pragma once

#include <cstdint>
#include <map>

namespace orrery {

class Extents {
 public:
  // `size`: blocks, >= 0.
  explicit Extents(std::int64_t size);

  // Takes `blocks` blocks of the first hole that holds them. Returns their start; -1 if there is no
  // such hole. REQUIRES blocks > 0.
  std::int64_t take(std::int64_t blocks);
  // Gives back an extent that take() returned.
  void release(std::int64_t start, std::int64_t blocks);

  std::int64_t free() const { return free_; }
  std::int64_t largest() const;  // largest hole

 private:
  std::map<std::int64_t, std::int64_t> holes_;  // start -> size; no two holes touch
  std::int64_t free_ = 0;
};

}  // namespace orrery
