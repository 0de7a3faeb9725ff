// The engines of a service over time: which take requests, which start up, drain, fail or are off.
//
//   off -> starting -> up -> draining -> off       elastic fleets (autoscaler.h)
//   up, draining -> failed -> up                   failures; KV cache and steps under way are lost
//
// GPUs count as used in every state but off.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "orrery/serving/engine/engine_view.h"

namespace orrery {

// Engines that are alike.
struct PoolConfig {
  ReplicaConfig replica;
  std::string scheduler = "vllm";
  std::int64_t replicas = 1;
  std::int64_t gpus = 1;  // of one replica
};

// An engine breaks down at random, on average `mean_time` of being up after it came up, and is up
// again `restart` later. Its requests start again from their prompts, on other engines if there are
// any; tokens that were out are lost.
struct Failures {
  Seconds mean_time;  // 0: never
  SimTime restart = sim_seconds(120);
  // One more at each of these times: of the first engine that is up, then of the second, ...
  std::vector<SimTime> at;

  bool any() const { return mean_time > Seconds(0) || !at.empty(); }
};

enum class EngineStatus : std::uint8_t { kOff, kStarting, kUp, kDraining, kFailed };

class Fleet {
 public:
  // Room for `most` engines of each pool; the first `replicas` are up, the others off. Borrows
  // everything; timers: one for each pool. `log`: of all engines' steps; null: none.
  Fleet(std::span<const PoolConfig> pools, std::span<StepTimer* const> timers, std::int64_t most,
        const RequestLoad& load, ReplicaObserver& observer, StepLog* log = nullptr);

  std::size_t size() const { return nodes_.size(); }
  // REQUIRES the engine is up or draining.
  Engine& at(std::size_t i) { return *nodes_[i].engine; }
  const PoolConfig& pool(std::size_t i) const { return pools_[nodes_[i].pool]; }
  std::size_t pool_index(std::size_t i) const { return nodes_[i].pool; }
  EngineStatus status(std::size_t i) const { return nodes_[i].status; }
  // Changes whenever an engine loses what it was doing: events of an older life are void.
  std::uint32_t life(std::size_t i) const { return nodes_[i].life; }

  // Those up of a role, as routers see them; places() are their indices.
  std::span<const EngineView> up(Role role) const { return lists_[index(role)].engines; }
  std::span<const std::uint32_t> places(Role role) const { return lists_[index(role)].places; }
  std::int64_t count(EngineStatus status) const;
  // The first off, the last up; size() if there is none.
  std::size_t first(EngineStatus status) const;
  std::size_t last(EngineStatus status) const;

  // A new engine when it leaves off or failed for up; dropped when it fails or goes off.
  void set(std::size_t i, EngineStatus status, SimTime now);

  // From now on routers see the loads that engines have now, until the next look.
  void look();

  // Of all engines that ever ran at each place.
  std::vector<ReplicaCounts> counts() const;
  // Until `end`, of engines and of their GPUs, while they were not off.
  Seconds engine_time(SimTime end) const;
  Seconds gpu_time(SimTime end) const;

 private:
  struct Node {
    std::unique_ptr<Engine> engine;
    std::size_t pool = 0;
    EngineStatus status = EngineStatus::kOff;
    std::uint32_t life = 0;
    SimTime on_since;
    Seconds on_time;
    ReplicaCounts before;  // of its earlier lives
    EngineLoad seen;       // at the last look
  };
  struct List {
    std::vector<EngineView> engines;
    std::vector<std::uint32_t> places;
  };
  static std::size_t index(Role role) { return static_cast<std::size_t>(role); }
  void make_engine(std::size_t i);
  void list();
  Seconds on_time(const Node& node, SimTime end) const;

  std::vector<PoolConfig> pools_;
  std::vector<StepTimer*> timers_;
  const RequestLoad& load_;
  ReplicaObserver& observer_;
  StepLog* log_;
  bool looked_ = false;  // once
  std::vector<Node> nodes_;
  List lists_[3];
};

}  // namespace orrery
