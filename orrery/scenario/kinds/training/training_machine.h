// The GPUs of a training job with the network between them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "orrery/hardware/cluster.h"
#include "orrery/network/collectives/network_model.h"
#include "orrery/scenario/setup/facts.h"

namespace orrery {

struct TrainingMachine {
  Cluster cluster;
  std::unique_ptr<NetworkModel> network;
};

// The machine of `gpus` GPUs in nodes of the type `node` (empty: the GPU's usual one). Points of a
// sweep that follow each other share it.
std::shared_ptr<const TrainingMachine> training_machine(Facts& facts, const Gpu& gpu,
                                                        const std::string& node, std::int64_t gpus);

}  // namespace orrery
