#include "orrery/network/collectives/tuner_routes.h"

#include <utility>

#include "orrery/base/index.h"

namespace orrery {

TunerRoutes::TunerRoutes(const MeasuredCluster& known, const ParallelPlan& plan) : known_(known) {
  const int gpus = known_.cluster.gpus();
  if (gpus == 1) return;
  for (const auto& [ranks, stride] : {std::pair{plan.tp, 1}, std::pair{plan.dp, plan.tp * plan.pp},
                                      std::pair{plan.tp * plan.dp, plan.pp}}) {
    if (ranks > 1 && stride <= gpus / ranks) routes_.push_back(route(ranks, stride));
  }
}

TunerInputs TunerRoutes::inputs(int ranks, int stride, Collective::Kind kind,
                                const ForcedChoice& forced) const {
  const GroupLink link = known_.cluster.link(ranks, stride);
  const NcclGraph graph = known_.graph(link, forced);
  TunerInputs t{graph, nccl_costs(graph, kind), {}};
  if (link.nodes > 1 && link.ranks_per_node > 1)
    t.within = known_.cluster.link(link.ranks_per_node, stride);
  for (const Cluster& other : known_.other_kinds) {
    const NcclGraph theirs =
        nccl_graph(known_.tables, other, other.link(ranks, stride), forced, known_.version);
    t.costs = slowest(t.costs, nccl_costs(theirs, kind));
  }
  return t;
}

TunerRoutes::Route TunerRoutes::route(int ranks, int stride) const {
  Route r;
  r.ranks = ranks, r.stride = stride;
  for (std::size_t k = 0; k < kKinds; ++k)
    r.kinds[k] = inputs(ranks, stride, static_cast<Collective::Kind>(k));
  return r;
}

const TunerInputs& TunerRoutes::of(const Collective& c, const RankPlacement& p,
                                   const ForcedChoice& forced,
                                   std::optional<TunerInputs>& scratch) const {
  const int stride = stride_of(c, p);
  if (is_collnet(forced) || is_symmetric(forced))
    return scratch.emplace(inputs(c.ranks, stride, c.kind, forced));
  for (const Route& r : routes_) {
    if (r.ranks == c.ranks && r.stride == stride) return r.kinds[index(c.kind)];
  }
  const std::array<int, 3> key{c.ranks, stride, static_cast<int>(c.kind)};
  const std::lock_guard lock(remembering_);
  if (const auto found = remembered_.find(key); found != remembered_.end()) return found->second;
  if (remembered_.size() >= kMostRemembered)
    return scratch.emplace(inputs(c.ranks, stride, c.kind));
  return remembered_.emplace(key, inputs(c.ranks, stride, c.kind)).first->second;
}

NcclCosts TunerRoutes::asked_costs(const Collective& c, const RankPlacement& p,
                                   const ForcedChoice& forced, const TunerInputs& inputs) const {
  if (!known_.asks_for_other_version()) return inputs.costs;
  const int stride = stride_of(c, p);
  const auto costs_on = [&](const Cluster& cluster) {
    return nccl_costs(nccl_graph(known_.asked_tables, cluster, cluster.link(c.ranks, stride),
                                 forced, known_.version),
                      c.kind);
  };
  NcclCosts costs = costs_on(known_.cluster);
  for (const Cluster& other : known_.other_kinds) costs = slowest(costs, costs_on(other));
  return costs;
}

// A framework's own kernel does not depend on the version. Over several nodes the fitted factors
// are those of the whole library, so that only the named choice is the version's there.
std::optional<CollectiveAlgorithm> TunerRoutes::choice_of_version(const Collective& c,
                                                                  const RankPlacement& p) const {
  const std::string& stack = known_.stack;
  const bool library = stack == "nccl" || stack == "pytorch" || stack == "pytorch-loop";
  if (!known_.asks_for_other_version() || !library || is_point_to_point(c.kind))
    return std::nullopt;
  if (known_.link_of(c, p).nodes > 1) return std::nullopt;
  std::optional<TunerInputs> scratch;
  const TunerInputs& inputs = of(c, p, {}, scratch);
  const auto usual = nccl_choose(inputs.costs, c.bytes, {});
  const auto asked = nccl_choose(asked_costs(c, p, {}, inputs), c.bytes, {});
  if (!usual || !asked || usual->algorithm == asked->algorithm) return std::nullopt;
  return asked->algorithm;
}

}  // namespace orrery
