// The engines of a service over time, with the status of each.
//
//   off -> starting -> up -> draining -> off       autoscaling (autoscaler.h)
//   up, draining -> failed -> up                   failures; KV cache and steps under way are lost
//
// GPUs count as used in every status but off.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "orrery/base/index.h"
#include "orrery/memory/memory_model.h"
#include "orrery/serving/engine/engine_view.h"

namespace orrery {

// Equal engines.
struct PoolConfig {
  ReplicaConfig replica;
  std::int64_t replicas = 1;
};
// Engines without techniques, of a profile, a layout and the memory of both. `max_model_len`:
// longest prompt and output, tokens. `kv_blocks`: blocks of the KV cache of one rank.
PoolConfig make_pool(const EngineProfile& engine, const ParallelPlan& plan,
                     const MemoryModel& memory, std::int64_t max_model_len, std::int64_t kv_blocks,
                     std::int64_t replicas);

// The records that a fleet keeps of its steps. Borrowed.
struct FleetRecords {
  StepLog* log = nullptr;                       // every step; null: none
  std::vector<StepWindows>* windows = nullptr;  // of each pool; null: none
};

enum class EngineStatus : std::uint8_t { kOff, kStarting, kUp, kDraining, kFailed };

class Fleet {
 public:
  // The fleet has room for as many engines of each pool as `most` says. The first
  // PoolConfig::replicas of them are up and the others off. Borrows all arguments. `timers` and
  // `most` have one entry for each pool.
  Fleet(std::span<const PoolConfig> pools, std::span<StepTimer* const> timers,
        std::span<const std::int64_t> most, const RequestLoad& load, ReplicaObserver& observer,
        const FleetRecords& records = {});

  std::size_t size() const { return nodes_.size(); }
  // REQUIRES the engine is up or draining.
  Engine& at(std::size_t i) { return *nodes_[i].engine; }
  const PoolConfig& pool(std::size_t i) const { return pools_[nodes_[i].pool]; }
  std::size_t pool_index(std::size_t i) const { return nodes_[i].pool; }
  EngineStatus status(std::size_t i) const { return nodes_[i].status; }
  bool runs(std::size_t i) const { return nodes_[i].engine != nullptr; }  // up or draining
  // Number of the engine's life, which changes whenever it loses its work. Events of an earlier
  // life are void.
  std::uint32_t life(std::size_t i) const { return nodes_[i].life; }

  // Engines of a role that are up, as routers see them, and their indices.
  std::span<const EngineView> up(Role role) const { return lists_[index(role)].engines; }
  std::span<const std::uint32_t> places(Role role) const { return lists_[index(role)].places; }
  std::int64_t count(std::size_t pool, EngineStatus status) const;
  // The first and the last engine of a pool with a status; size() if there is none.
  std::size_t first(std::size_t pool, EngineStatus status) const;
  std::size_t last(std::size_t pool, EngineStatus status) const;

  // Changes a status. An engine that comes up from off or failed is new; one that fails or goes off
  // loses its state.
  void set(std::size_t i, EngineStatus status, SimTime now);

  // Routers see the present loads until the next call.
  void look();

  // For each place the sum over all engines that ever ran there.
  std::vector<ReplicaCounts> counts() const;
  // Time until `end` in which engines were not off: summed over the engines of each pool, and over
  // all GPUs.
  std::vector<Seconds> engine_times(SimTime end) const;
  Seconds gpu_time(SimTime end) const;
  // Counts the time until `end` of the engines that are not off in the windows. Earlier times of
  // engines that went off are there already.
  void count_present(SimTime end);

 private:
  struct Node {
    std::unique_ptr<Engine> engine;
    std::size_t pool = 0;
    EngineStatus status = EngineStatus::kOff;
    std::uint32_t life = 0;
    SimTime on_since;
    Seconds on_time;
    ReplicaCounts before;  // sum over its earlier lives
    EngineLoad seen;       // load at the last look
  };
  struct List {
    std::vector<EngineView> engines;
    std::vector<std::uint32_t> places;
  };
  void make_engine(std::size_t i);
  void list();
  Seconds on_time(const Node& node, SimTime end) const;

  std::vector<PoolConfig> pools_;
  std::vector<StepTimer*> timers_;
  const RequestLoad& load_;
  ReplicaObserver& observer_;
  FleetRecords records_;
  bool looked_ = false;  // look() was called
  std::vector<Node> nodes_;
  List lists_[3];
};

}  // namespace orrery
