#include "orrery/serving/cluster/fleet_scaling.h"

#include <algorithm>

namespace orrery {

FleetScaling::FleetScaling(const std::vector<Autoscale>& settings, Fleet& fleet, EventQueue& events)
    : fleet_(fleet), events_(events) {
  for (const Autoscale& a : settings) {
    pools_.push_back({make_autoscaler(a),
                      a.least,
                      a.most,
                      sim_time(a.interval),
                      sim_time(a.start_up),
                      sim_time(a.cool_down),
                      {}});
  }
}

void FleetScaling::begin() {
  for (std::size_t p = 0; p < pools_.size(); ++p) {
    if (pools_[p].policy) events_.push(pools_[p].interval, EventKind::kScale, p, 0);
  }
}

void FleetScaling::decide(std::size_t p, const Demand& demand, SimTime now) {
  const Pool& pool = pools_[p];
  events_.push(now + pool.interval, EventKind::kScale, p, 0);
  const FleetLoad l = load(p, demand);
  const std::int64_t wanted = std::clamp(pool.policy->wanted(l), pool.least, pool.most);
  if (wanted > l.engines) {
    grow(p, wanted - l.engines, now);
  } else if (wanted < l.engines &&
             (pool.changed == SimTime{} || now - pool.changed >= pool.cool_down)) {
    shrink(p, l.engines - wanted, now);
  }
}

FleetLoad FleetScaling::load(std::size_t pool, const Demand& demand) const {
  FleetLoad l;
  l.engines = present(pool);
  l.outstanding = demand.outstanding;
  l.waiting = demand.parked;
  const auto up = static_cast<double>(fleet_.count(pool, EngineStatus::kUp));
  for (std::size_t i = 0; i < fleet_.size(); ++i) {
    if (fleet_.pool_index(i) != pool || fleet_.status(i) != EngineStatus::kUp) continue;
    const Engine& e = fleet_.at(i);
    // Requests wait for the KV cache of their prompts where they decode.
    const bool decodes = e.config().role == Role::kDecode;
    l.waiting += decodes ? e.outstanding() - e.running() : e.waiting();
    l.kv_use += e.kv_use() / up;
  }
  return l;
}

void FleetScaling::grow(std::size_t p, std::int64_t by, SimTime now) {
  pools_[p].changed = now;
  for (; by > 0; --by) {
    const std::size_t draining = fleet_.first(p, EngineStatus::kDraining);
    if (draining < fleet_.size()) {
      fleet_.set(draining, EngineStatus::kUp, now);
      continue;
    }
    const std::size_t off = fleet_.first(p, EngineStatus::kOff);
    if (off == fleet_.size()) return;
    ++starts_;
    fleet_.set(off, EngineStatus::kStarting, now);
    events_.push(now + pools_[p].start_up, EventKind::kStarted, off, 0);
  }
}

void FleetScaling::shrink(std::size_t p, std::int64_t by, SimTime now) {
  for (; by > 0 && fleet_.count(p, EngineStatus::kUp) > 1; --by) {
    const std::size_t i = fleet_.last(p, EngineStatus::kUp);
    pools_[p].changed = now;
    fleet_.set(i, EngineStatus::kDraining, now);
    if (fleet_.at(i).idle()) fleet_.set(i, EngineStatus::kOff, now);
  }
}

std::int64_t FleetScaling::present(std::size_t pool) const {
  return fleet_.count(pool, EngineStatus::kUp) + fleet_.count(pool, EngineStatus::kStarting) +
         fleet_.count(pool, EngineStatus::kFailed);
}

std::int64_t FleetScaling::present() const {
  std::int64_t n = 0;
  for (std::size_t p = 0; p < pools_.size(); ++p) n += present(p);
  return n;
}

}  // namespace orrery
