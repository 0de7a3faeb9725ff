#include "orrery/serving/host_tier.h"

namespace orrery {

void HostTier::keep(std::uint64_t hash) {
  if (const auto at = where_.find(hash); at != where_.end()) return touch(hash);
  ++kept_;
  if (static_cast<std::int64_t>(order_.size()) == size_) {
    where_.erase(order_.front());
    order_.pop_front();
  }
  where_[hash] = order_.insert(order_.end(), hash);
}

void HostTier::touch(std::uint64_t hash) { order_.splice(order_.end(), order_, where_.at(hash)); }

}  // namespace orrery
