// A further pool of engines of a simulated service, and KV transfers between pools.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "orrery/scenario/kinds/service/cluster_choice.h"
#include "orrery/scenario/kinds/service/service_config.h"
#include "orrery/scenario/kinds/service/service_techniques.h"
#include "orrery/scenario/setup/served_model.h"
#include "orrery/serving/cluster/simulation.h"

namespace orrery {

struct ServedPool {
  std::shared_ptr<const ServedModel> served;
  std::shared_ptr<const ServiceTechniques> techniques;
  PoolConfig config, plain;  // with and without the techniques
};

// The pool that `choice` describes by what differs from the `first`. It has the techniques of
// `service`, the question of the scenario, which outlives it. Infeasible: it does not fit.
ServedPool served_pool(Facts& facts, const Scenario& scenario, const ServiceQuestion& service,
                       const ServedModel& first, const PoolChoice& choice);

// One side of a KV transfer.
struct TransferSide {
  const ServedModel& served;
  std::int64_t replicas;
  const ServiceTechniques* techniques;  // null: none, so that no drafter has a KV cache
};

// KV transfers between two pools. Every GPU of an engine sends (or receives) its own share of the
// cache over its own link, and all GPUs do so at once: the time is that of the larger share. The KV
// cache of a drafter moves too. Two pools of the same GPU that fit into one node are in one; else
// the transfers run between nodes, over each GPU's part of the ports, and the slower side decides.
// The latency of a send (NetworkModel) is the only software cost that is counted.
//
// Infeasible: several nodes of a type that has no network.
KvTransfer kv_transfer(const Facts& facts, const std::string& node, const TransferSide& from,
                       const TransferSide& to, bool layerwise, std::vector<std::string>& notes);

}  // namespace orrery
