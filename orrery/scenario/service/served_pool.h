// One pool of a simulated service made concrete: the engines' layout, memory and step times.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "orrery/memory/memory_model.h"
#include "orrery/network/collectives/network_model.h"
#include "orrery/scenario/answer/run_options.h"
#include "orrery/scenario/setup/deployment.h"
#include "orrery/scenario/setup/facts.h"
#include "orrery/serving/cluster/simulation.h"
#include "orrery/step/step_model.h"

namespace orrery {

// A pool beside the first. Not copied or moved: the step model borrows its parts.
struct ServedPool {
  Deployment deployment;
  ParallelPlan plan;
  std::unique_ptr<MemoryModel> memory;
  std::unique_ptr<StepModel> steps;
  PoolConfig config;
};

// The replica of `d`, without techniques. `kv_blocks`: of one rank.
PoolConfig pool_config(const Scenario& s, const Deployment& d, const Architecture& model,
                       const ParallelPlan& plan, std::int64_t replicas, std::int64_t kv_blocks);

// A pool beside the first one, which has `first` and `plan`. Infeasible: it does not fit.
std::shared_ptr<const ServedPool> served_pool(Facts& facts, const Scenario& scenario,
                                              const Architecture& model, const Deployment& first,
                                              const ParallelPlan& plan, const PoolChoice& choice,
                                              const RunOptions& options);

// One side of a KV transfer.
struct TransferSide {
  const Deployment& deployment;
  const ParallelPlan& plan;
  const MemoryModel& memory;
  std::int64_t replicas;
};

// KV transfers between two pools. Every GPU of an engine sends (or receives) its own share of the
// cache over its own link, all at once: the time is that of the larger share. The pools stand in
// one node where their GPUs are alike and fit; else between nodes, over each GPU's part of the
// ports, and the slower side decides. Nothing is added for the software that sets a transfer up
// beyond the latency of a send (NetworkModel).
//
// Infeasible: several nodes of a type that has no network.
KvTransfer kv_transfer(const Catalog& catalog, const Bundle& bundle, const std::string& node,
                       const Architecture& model, const TransferSide& from, const TransferSide& to,
                       bool layerwise, std::vector<std::string>& notes);

}  // namespace orrery
