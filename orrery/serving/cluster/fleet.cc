#include "orrery/serving/cluster/fleet.h"

#include <algorithm>
#include <utility>

namespace orrery {

PoolConfig make_pool(const EngineProfile& engine, const ParallelPlan& plan,
                     const MemoryModel& memory, std::int64_t max_model_len, std::int64_t kv_blocks,
                     std::int64_t replicas) {
  PoolConfig pool;
  pool.replicas = replicas;
  ReplicaConfig& r = pool.replica;
  r.engine = engine;
  r.plan = plan;
  r.kv_blocks = kv_blocks;
  r.kv.max_model_len = max_model_len;
  r.kv.groups = memory.groups();
  if (engine.memory.paged) r.kv.state_blocks = memory.state_blocks();
  return pool;
}

Fleet::Fleet(std::span<const PoolConfig> pools, std::span<StepTimer* const> timers,
             std::span<const std::int64_t> most, const RequestLoad& load, ReplicaObserver& observer,
             const FleetRecords& records)
    : pools_(pools.begin(), pools.end()),
      timers_(timers.begin(), timers.end()),
      load_(load),
      observer_(observer),
      records_(records) {
  for (std::size_t p = 0; p < pools_.size(); ++p) {
    const std::int64_t room = std::max(pools_[p].replicas, most[p]);
    for (std::int64_t i = 0; i < room; ++i) {
      Node& node = nodes_.emplace_back();
      node.pool = p;
      if (i >= pools_[p].replicas) continue;
      node.status = EngineStatus::kUp;
      make_engine(nodes_.size() - 1);
    }
  }
  list();
}

void Fleet::make_engine(std::size_t i) {
  Node& node = nodes_[i];
  const PoolConfig& p = pools_[node.pool];
  node.engine = std::make_unique<Engine>(p.replica, load_, *timers_[node.pool], observer_);
  node.engine->log_to(records_.log, static_cast<std::uint32_t>(i));
  if (records_.windows) node.engine->count_in(&(*records_.windows)[node.pool]);
  node.seen = {};
}

void Fleet::list() {
  for (List& l : lists_) l.engines.clear(), l.places.clear();
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].status != EngineStatus::kUp) continue;
    List& l = lists_[index(pool(i).replica.role)];
    l.engines.emplace_back(*nodes_[i].engine, looked_ ? &nodes_[i].seen : nullptr);
    l.places.push_back(static_cast<std::uint32_t>(i));
  }
}

std::int64_t Fleet::count(std::size_t pool, EngineStatus status) const {
  return std::count_if(nodes_.begin(), nodes_.end(),
                       [=](const Node& n) { return n.pool == pool && n.status == status; });
}

std::size_t Fleet::first(std::size_t pool, EngineStatus status) const {
  const auto at = std::find_if(nodes_.begin(), nodes_.end(),
                               [=](const Node& n) { return n.pool == pool && n.status == status; });
  return static_cast<std::size_t>(at - nodes_.begin());
}

std::size_t Fleet::last(std::size_t pool, EngineStatus status) const {
  for (std::size_t i = nodes_.size(); i-- > 0;) {
    if (nodes_[i].pool == pool && nodes_[i].status == status) return i;
  }
  return nodes_.size();
}

void Fleet::set(std::size_t i, EngineStatus status, SimTime now) {
  Node& node = nodes_[i];
  if (node.status == EngineStatus::kOff) node.on_since = now;
  if (status == EngineStatus::kOff) {
    node.on_time += (now - node.on_since).time();
    if (records_.windows) (*records_.windows)[node.pool].add_present(node.on_since, now);
  }
  node.status = status;
  const bool alive = status == EngineStatus::kUp || status == EngineStatus::kDraining;
  if (!alive && node.engine) {
    node.before += node.engine->counts();
    node.engine.reset();
    ++node.life;
  }
  if (alive && !node.engine) make_engine(i);
  list();
}

void Fleet::look() {
  for (Node& n : nodes_) {
    if (n.engine) n.seen = n.engine->load();
  }
  if (std::exchange(looked_, true)) return;
  list();
}

std::vector<ReplicaCounts> Fleet::counts() const {
  std::vector<ReplicaCounts> all;
  for (const Node& n : nodes_) {
    ReplicaCounts c = n.before;
    if (n.engine) c += n.engine->counts();
    all.push_back(c);
  }
  return all;
}

Seconds Fleet::on_time(const Node& node, SimTime end) const {
  const bool on = node.status != EngineStatus::kOff && end > node.on_since;
  return node.on_time + (on ? (end - node.on_since).time() : Seconds(0));
}

void Fleet::count_present(SimTime end) {
  for (const Node& n : nodes_) {
    if (n.status != EngineStatus::kOff) (*records_.windows)[n.pool].add_present(n.on_since, end);
  }
}

std::vector<Seconds> Fleet::engine_times(SimTime end) const {
  std::vector<Seconds> sums(pools_.size());
  for (const Node& n : nodes_) sums[n.pool] += on_time(n, end);
  return sums;
}

Seconds Fleet::gpu_time(SimTime end) const {
  Seconds sum;
  for (const Node& n : nodes_) sum += on_time(n, end) * pools_[n.pool].replica.plan.devices();
  return sum;
}

}  // namespace orrery
