#include "orrery/validate/fit/network_machines.h"

#include <fmt/format.h>

#include "orrery/base/error.h"
#include "orrery/network/collectives/make_network.h"
#include "orrery/network/fit/measured_place.h"
#include "orrery/network/fit/network_folds.h"

namespace orrery {

const NetworkMachines::Machine& NetworkMachines::of(const MeasuredMachine& m) {
  const std::string key =
      fmt::format("{}|{}|{}|{}|{}|{}", m.gpu, m.ranks, m.nodes, m.fabric, m.stack, m.experts);
  if (const auto found = machines_.find(key); found != machines_.end()) return found->second;
  std::optional<Cluster> cluster = measured_place(catalog_, m.gpu, m.ranks, m.nodes, m.fabric);
  if (!cluster) throw NoData("the source does not describe the network");
  const NetworkGroup group{cluster->link(m.ranks).fabric->id, cluster->gpu().id,
                           m.experts ? "deepep" : std::string(collective_library(cluster->gpu()))};
  auto fold = folds_.find(group.name());
  if (fold == folds_.end())
    fold = folds_.emplace(group.name(), bundle_without(bundle_, group)).first;
  const auto model = [&](const Bundle& bundle) {
    return make_network_model(*cluster, {.tp = m.ranks}, m.stack, bundle);
  };
  Machine machine{*cluster, model(bundle_), model(fold->second ? *fold->second : bundle_),
                  fold->second.has_value()};
  return machines_.emplace(key, std::move(machine)).first->second;
}

}  // namespace orrery
