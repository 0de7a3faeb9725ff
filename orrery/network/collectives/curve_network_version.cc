// CurveNetwork where a version of NCCL is asked for: what that version chooses.
#include "orrery/network/collectives/curve_network.h"

namespace orrery {

NcclCosts CurveNetwork::asked_costs(const Collective& c, const RankPlacement& p,
                                    const ForcedChoice& forced, const TunerInputs& inputs) const {
  if (&asked_tables_ == &tables_) return inputs.costs;
  const int stride = stride_of(c, p);
  const auto costs_on = [&](const Cluster& cluster) {
    return nccl_costs(
        nccl_graph(asked_tables_, cluster, cluster.link(c.ranks, stride), forced, version_),
        c.kind);
  };
  NcclCosts costs = costs_on(cluster_);
  for (const Cluster& other : other_kinds_) costs = slowest(costs, costs_on(other));
  return costs;
}

// A framework's own kernel does not depend on the version. Over several nodes the fitted factors are
// those of the whole library, so that only the named choice is the version's there.
std::optional<CollectiveAlgorithm> CurveNetwork::choice_of_version(const Collective& c,
                                                                   const RankPlacement& p) const {
  const bool library = stack_ == "nccl" || stack_ == "pytorch" || stack_ == "pytorch-loop";
  if (&asked_tables_ == &tables_ || !library || is_point_to_point(c.kind)) return std::nullopt;
  if (group_link(c, p).nodes > 1) return std::nullopt;
  std::optional<TunerInputs> scratch;
  const TunerInputs& inputs = tuner_inputs_of(c, p, {}, scratch);
  const auto usual = nccl_choose(inputs.costs, c.bytes, {});
  const auto asked = nccl_choose(asked_costs(c, p, {}, inputs), c.bytes, {});
  if (!usual || !asked || usual->algorithm == asked->algorithm) return std::nullopt;
  return asked->algorithm;
}

}  // namespace orrery
