#include "orrery/serving/state/adapters.h"

#include <algorithm>
#include <cmath>

#include "orrery/base/random.h"

namespace orrery {

void assign_adapters(RequestLoad& load, std::int64_t adapters, double alpha, std::uint64_t seed) {
  std::vector<double> up_to;  // cumulated popularity
  double sum = 0;
  for (std::int64_t n = 1; n <= adapters; ++n)
    up_to.push_back(sum += std::pow(static_cast<double>(n), -alpha));
  RandomStream random(seed, "adapter");
  for (Request& r : load.requests) {
    const auto at = std::upper_bound(up_to.begin(), up_to.end() - 1, random.uniform() * sum);
    r.adapter = static_cast<std::int32_t>(at - up_to.begin());
  }
  for (std::size_t i = 0; i < load.follow_ups.size(); ++i) {
    if (const std::uint32_t next = load.follow_ups[i].next; next != FollowUp::kNone)
      load.requests[next].adapter = load.requests[i].adapter;
  }
}

bool AdapterSet::has(std::int32_t adapter) const {
  return std::find(ids_.begin(), ids_.end(), adapter) != ids_.end();
}

void AdapterSet::add(std::int32_t adapter) {
  if (adapter >= 0 && !has(adapter)) ids_.push_back(adapter);
}

std::int64_t AdapterSlots::bring_in(const AdapterSet& step) {
  ++step_;
  const auto find = [&](std::int32_t adapter) {
    return std::find_if(resident_.begin(), resident_.end(),
                        [&](const Resident& r) { return r.adapter == adapter; });
  };
  // Adapters in use are marked first, so that none of them makes room for another.
  for (std::int32_t adapter : step.ids()) {
    if (const auto at = find(adapter); at != resident_.end()) at->used = step_;
  }
  std::int64_t loads = 0;
  for (std::int32_t adapter : step.ids()) {
    if (find(adapter) != resident_.end()) continue;
    ++loads;
    if (resident_.size() < slots_) {
      resident_.push_back({adapter, step_});
      continue;
    }
    const auto oldest =
        std::min_element(resident_.begin(), resident_.end(),
                         [](const Resident& a, const Resident& b) { return a.used < b.used; });
    *oldest = {adapter, step_};
  }
  return loads;
}

}  // namespace orrery
