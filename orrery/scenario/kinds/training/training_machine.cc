#include "orrery/scenario/kinds/training/training_machine.h"

#include <utility>

#include "orrery/hardware/segments.h"
#include "orrery/network/collectives/make_network.h"
#include "orrery/scenario/setup/served_model.h"

namespace orrery {
namespace {

struct MachineKey {
  std::string gpu, node;
  std::int64_t gpus;
  bool operator==(const MachineKey&) const = default;
};

}  // namespace

std::shared_ptr<const TrainingMachine> training_machine(Facts& facts, const Gpu& gpu,
                                                        const std::string& node,
                                                        std::int64_t gpus) {
  return facts.latest<TrainingMachine>(MachineKey{gpu.id, node, gpus}, [&] {
    const Catalog& catalog = facts.catalog();
    NodeType type = node_of(catalog, gpu, node);
    Cluster cluster(catalog, gpu, static_cast<int>(gpus),
                    in_segments(std::move(type), static_cast<int>(gpus)));
    auto network = make_network_model(cluster, {}, collective_library(gpu), facts.bundle());
    return TrainingMachine{std::move(cluster), std::move(network)};
  });
}

}  // namespace orrery
