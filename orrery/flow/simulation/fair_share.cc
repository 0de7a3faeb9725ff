#include "orrery/flow/simulation/fair_share.h"

#include <algorithm>

#include "orrery/base/index.h"

namespace orrery {

FairShare::FairShare(const std::vector<BytesPerSecond>& capacities) : links_(capacities.size()) {
  for (std::size_t i = 0; i < capacities.size(); ++i) links_[i].capacity = capacities[i].value();
}

int FairShare::add(std::span<const Use> uses) {
  uses_.insert(uses_.end(), uses.begin(), uses.end());
  place_.resize(uses_.size(), -1);
  first_use_.push_back(static_cast<std::int32_t>(uses_.size()));
  rate_.push_back(uses.empty() ? std::numeric_limits<double>::infinity() : 0);
  seen_.push_back(0);
  fixed_.push_back(0);
  return static_cast<int>(rate_.size()) - 1;
}

void FairShare::start(int flow) {
  const auto f = static_cast<std::size_t>(flow);
  for (auto u = first_use_[f]; u < first_use_[f + 1]; ++u) {
    const Use& use = uses_[index(u)];
    LinkState& l = links_[index(use.link)];
    place_[index(u)] = static_cast<std::int32_t>(l.flows.size());
    l.flows.push_back({flow, use.times, u});
    if (!l.dirty) l.dirty = true, dirty_.push_back(use.link);
  }
}

void FairShare::stop(int flow) {
  const auto f = static_cast<std::size_t>(flow);
  for (auto u = first_use_[f]; u < first_use_[f + 1]; ++u) {
    LinkState& l = links_[index(uses_[index(u)].link)];
    const auto place = static_cast<std::size_t>(place_[index(u)]);
    l.flows[place] = l.flows.back();
    place_[index(l.flows[place].use)] = static_cast<std::int32_t>(place);
    l.flows.pop_back();
    if (!l.flows.empty() && !l.dirty) l.dirty = true, dirty_.push_back(uses_[index(u)].link);
  }
}

// Gives its rate to a single flow that is alone on all its links, the usual case when few are under
// way. Returns whether that was all there was to solve.
bool FairShare::solve_alone() {
  const LinkState& first = links_[index(dirty_.front())];
  if (first.flows.size() != 1) return false;
  const std::int32_t flow = first.flows.front().flow;
  const auto f = static_cast<std::size_t>(flow);
  double share = std::numeric_limits<double>::infinity();
  std::size_t dirty = 0;
  for (auto u = first_use_[f]; u < first_use_[f + 1]; ++u) {
    const Use& use = uses_[index(u)];
    const LinkState& l = links_[index(use.link)];
    if (l.flows.size() != 1) return false;
    dirty += l.dirty;
    share = std::min(share, l.capacity / use.times);
  }
  if (dirty != dirty_.size()) return false;
  for (std::int32_t id : dirty_) links_[index(id)].dirty = false;
  dirty_.clear();
  touched_.push_back(flow);
  rate_[f] = share;
  return true;
}

void FairShare::solve() {
  touched_.clear();
  if (solve_alone()) return;
  ++round_;
  component_.clear();
  const auto reach = [&](std::int32_t id) {
    LinkState& l = links_[index(id)];
    if (l.seen == round_) return;
    l.seen = round_;
    component_.push_back(id);
  };
  for (std::int32_t id : dirty_) {
    links_[index(id)].dirty = false;
    reach(id);
  }
  dirty_.clear();
  heap_.clear();
  for (std::size_t head = 0; head < component_.size(); ++head) {
    const std::int32_t id = component_[head];
    LinkState& l = links_[index(id)];
    l.left = l.capacity;
    l.weight = 0;
    for (const Entry& e : l.flows) {
      l.weight += e.times;
      const auto f = static_cast<std::size_t>(e.flow);
      if (seen_[f] == round_) continue;
      seen_[f] = round_;
      touched_.push_back(e.flow);
      for (auto u = first_use_[f]; u < first_use_[f + 1]; ++u) {
        reach(uses_[index(u)].link);
      }
    }
    if (l.weight > 0) heap_.emplace_back(l.left / l.weight, id);
  }
  // The link with the smallest share fills up first. Shares only grow while other links fill up, so
  // an outdated entry comes too early and is put back.
  const auto later = [](const auto& a, const auto& b) { return a > b; };
  std::make_heap(heap_.begin(), heap_.end(), later);
  std::size_t open = touched_.size();
  while (open > 0 && !heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const auto [key, id] = heap_.back();
    heap_.pop_back();
    LinkState& l = links_[index(id)];
    if (!(l.weight > 0)) continue;
    const double share = std::max(l.left, 0.0) / l.weight;
    if (share > key * (1 + 1e-12)) {
      heap_.emplace_back(share, id);
      std::push_heap(heap_.begin(), heap_.end(), later);
      continue;
    }
    for (const Entry& e : l.flows) {
      const auto f = static_cast<std::size_t>(e.flow);
      if (fixed_[f] == round_) continue;
      fixed_[f] = round_;
      rate_[f] = share;
      --open;
      for (auto u = first_use_[f]; u < first_use_[f + 1]; ++u) {
        const Use& use = uses_[index(u)];
        LinkState& other = links_[index(use.link)];
        if (&other == &l) continue;
        other.left -= use.times * share;
        other.weight -= use.times;
      }
    }
    l.weight = 0;
  }
}

}  // namespace orrery
