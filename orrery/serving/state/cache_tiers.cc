#include "orrery/serving/state/cache_tiers.h"

#include <algorithm>

namespace orrery {

std::uint64_t CacheTier::keep(std::uint64_t hash) {
  if (has(hash)) {
    touch(hash);
    return 0;
  }
  ++kept_;
  std::uint64_t dropped = 0;
  if (static_cast<std::int64_t>(order_.size()) == size_) {
    dropped = order_.front();
    where_.erase(dropped);
    order_.pop_front();
  }
  where_[hash] = order_.insert(order_.end(), hash);
  return dropped;
}

void CacheTier::touch(std::uint64_t hash) { order_.splice(order_.end(), order_, where_.at(hash)); }

std::size_t CacheTiers::find(std::uint64_t hash) const {
  std::size_t i = 0;
  while (i < kTiers && !tiers_[i].has(hash)) ++i;
  return i;
}

void CacheTiers::keep(std::uint64_t hash) {
  for (CacheTier& tier : tiers_) {
    if (!tier.on()) continue;
    hash = tier.keep(hash);
    if (hash == 0) return;
  }
}

SimTime DiskQueue::ask(SimTime now, std::int64_t reads, std::int64_t writes) {
  if (reads == 0 && writes == 0) return {};
  free_ = std::max(free_, now);
  free_ += read_ * reads;
  const SimTime waited = reads > 0 ? SimTime{free_.ps - now.ps} : SimTime{};
  free_ += write_ * writes;
  return waited;
}

}  // namespace orrery
