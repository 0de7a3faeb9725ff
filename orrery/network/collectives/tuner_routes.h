// The view that NCCL's tuner has of the groups of a cluster.
//
// The views of a plan's groups are worked out once. Those of other groups are remembered, because a
// search over layouts asks for a few again and again.
#pragma once

#include <array>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "orrery/network/collectives/measured_cluster.h"
#include "orrery/network/collectives/nccl_tuner.h"

namespace orrery {

// The tuner's view of one kind of collective on a group.
struct TunerInputs {
  NcclGraph graph;
  NcclCosts costs;
  // The link of the group's ranks in one node, if it has others elsewhere; else no fabric.
  GroupLink within;
};

class TunerRoutes {
 public:
  // `known` outlives the routes.
  TunerRoutes(const MeasuredCluster& known, const ParallelPlan& plan);

  // The inputs of the group of `c`. They are made in `scratch` where they are not remembered.
  const TunerInputs& of(const Collective& c, const RankPlacement& p, const ForcedChoice& forced,
                        std::optional<TunerInputs>& scratch) const;
  // The costs by which the asked version of NCCL chooses; `inputs`' own if none was asked for.
  NcclCosts asked_costs(const Collective& c, const RankPlacement& p, const ForcedChoice& forced,
                        const TunerInputs& inputs) const;
  // The algorithm that the asked version of NCCL chooses, if it is another one than that of the
  // version with whose tables times are predicted; else nothing.
  std::optional<CollectiveAlgorithm> choice_of_version(const Collective& c,
                                                       const RankPlacement& p) const;

 private:
  static constexpr std::size_t kKinds = 7;
  struct Route {
    int ranks = 0, stride = 0;
    std::array<TunerInputs, kKinds> kinds{};  // by Collective::Kind
  };

  TunerInputs inputs(int ranks, int stride, Collective::Kind kind,
                     const ForcedChoice& forced = {}) const;
  Route route(int ranks, int stride) const;

  const MeasuredCluster& known_;
  std::vector<Route> routes_;
  // Inputs of other groups, by ranks, stride and kind. They stay where they are, and there are
  // kMostRemembered at most.
  static constexpr std::size_t kMostRemembered = 4096;
  mutable std::mutex remembering_;
  mutable std::map<std::array<int, 3>, TunerInputs> remembered_;
};

}  // namespace orrery
