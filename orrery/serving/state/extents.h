// Contiguous KV memory, as engines before paging allocate it (FasterTransformer, Orca): one extent
// a sequence, reserved whole when it starts, first fit. What a sequence reserves and does not use
// is internal fragmentation; holes that are too small for the next sequence are external.
#pragma once

#include <cstdint>
#include <map>

namespace orrery {

class Extents {
 public:
  // REQUIRES size >= 0; unit: blocks.
  explicit Extents(std::int64_t size);

  // The start of a hole of `blocks`, now taken; -1 if there is none. REQUIRES blocks > 0.
  std::int64_t take(std::int64_t blocks);
  // Gives back what take returned.
  void release(std::int64_t start, std::int64_t blocks);

  std::int64_t free() const { return free_; }
  std::int64_t largest() const;  // hole

 private:
  std::map<std::int64_t, std::int64_t> holes_;  // start, size; no two touch
  std::int64_t free_ = 0;
};

}  // namespace orrery
