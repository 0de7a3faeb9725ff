#include "orrery/serving/state/extents.h"

#include <algorithm>

namespace orrery {

Extents::Extents(std::int64_t size) : free_(size) {
  if (size > 0) holes_[0] = size;
}

std::int64_t Extents::take(std::int64_t blocks) {
  const auto at = std::find_if(holes_.begin(), holes_.end(),
                               [blocks](const auto& hole) { return hole.second >= blocks; });
  if (at == holes_.end()) return -1;
  const auto [start, size] = *at;
  holes_.erase(at);
  if (size > blocks) holes_[start + blocks] = size - blocks;
  free_ -= blocks;
  return start;
}

void Extents::release(std::int64_t start, std::int64_t blocks) {
  free_ += blocks;
  auto after = holes_.lower_bound(start);
  if (after != holes_.end() && after->first == start + blocks) {
    blocks += after->second;
    after = holes_.erase(after);
  }
  if (after != holes_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == start) {
      before->second += blocks;
      return;
    }
  }
  holes_[start] = blocks;
}

std::int64_t Extents::largest() const {
  std::int64_t most = 0;
  for (const auto& [start, size] : holes_) most = std::max(most, size);
  return most;
}

}  // namespace orrery
