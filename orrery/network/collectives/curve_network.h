// Collectives by fitted curves (cost.h) within a node, and by the library's tuner with fitted
// factors (library_curve.h) between nodes: what make_network_model returns. Not for other rooms.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "orrery/network/collectives/cost.h"
#include "orrery/network/collectives/nccl_graph.h"
#include "orrery/network/collectives/network_constants.h"
#include "orrery/network/collectives/network_model.h"

namespace orrery {

inline bool is_point_to_point(Collective::Kind kind) {
  return kind == Collective::Kind::kAllToAll || kind == Collective::Kind::kSend;
}

class CurveNetwork final : public NetworkModel {
 public:
  CurveNetwork(const Cluster& cluster, const ParallelPlan& plan, std::string stack,
               const Bundle& bundle, const std::vector<Cluster>& beside);
  CurveNetwork(const CurveNetwork&) = delete;
  CurveNetwork& operator=(const CurveNetwork&) = delete;

  CollectiveTime predict(const Collective& c) const override { return timed(c, {}, placement_); }
  CollectiveTime predict(const Collective& c, const RankPlacement& p) const override {
    return timed(c, {}, p);
  }
  CollectiveTime predict(const Collective& c, const NcclForced& forced) const override;
  CollectiveTime exchange(const ExpertExchange& x, Collective::Group group,
                          int ranks) const override {
    return exchange(x, group, ranks, placement_);
  }
  CollectiveTime exchange(const ExpertExchange& x, Collective::Group group, int ranks,
                          const RankPlacement& p) const override;
  CollectiveChoice choice(const Collective& c, const NcclForced& forced) const override;
  Seconds bound(const Collective& c, const NcclForced& forced) const override;
  std::string provenance(const Collective& c) const override;

 private:
  // What the tuner knows of a kind of collective on a group.
  struct Tuned {
    NcclGraph graph;
    NcclCosts costs;
    GroupLink within;  // of its members in one node, where others are elsewhere; else no fabric
  };
  static constexpr std::size_t kKinds = 7;
  // What a group's place in the machine decides, worked out once.
  struct Route {
    int ranks = 0, stride = 0;
    std::array<Tuned, kKinds> kinds{};  // by Collective::Kind
  };
  struct Choice {
    CurveTime time;
    std::string_view algorithm;
    double error = 0;
    Origin origin = Origin::kAnalytical;
    std::optional<double> shared{};  // with `error` all there is, whatever the origin
  };

  GroupLink group_link(const Collective& c, const RankPlacement& p) const;
  Tuned tuned(int ranks, int stride, Collective::Kind kind, bool collnet = false) const;
  Route route(int ranks, int stride) const;
  // Of a group of the plan, or made in `scratch`.
  const Tuned& tuned_of(const Collective& c, const RankPlacement& p, const NcclForced& forced,
                        std::optional<Tuned>& scratch) const;
  // InputError: the forced pair is not offered.
  NcclChoice checked_choice(const Collective& c, const NcclForced& forced) const;
  Seconds bound_of(const Collective& c, const GroupLink& link, const RankPlacement& p,
                   bool collnet) const;
  const NetworkConstants::Found& constants_of(const Fabric& fabric) const;
  bool has_other_tree(const Fabric& fabric) const {
    return other_tree_ && fabric.kind == FabricKind::kBus;
  }
  Origin origin_of(const NetworkConstants::Found& known, const Fabric& fabric) const {
    return has_other_tree(fabric) ? std::max(known.origin, Origin::kTransferred) : known.origin;
  }

  // REQUIRES that the pair is offered.
  CollectiveTime timed(const Collective& c, const NcclForced& forced, const RankPlacement& p) const;
  // On one fabric.
  Choice inside(const Collective& c, const GroupLink& link, int ranks, std::string_view stack,
                const NcclForced& forced) const;
  Choice across_nodes(const Collective& c, const GroupLink& link, const RankPlacement& p,
                      const NcclForced& forced) const;
  // Launches of a loop that ranks do not begin together (`pytorch-loop`).
  static void wait_for_ranks(const Collective& c, Choice& choice);
  static Estimate<Seconds> estimate(const Choice& choice);

  Cluster cluster_;
  std::vector<Cluster> beside_;
  RankPlacement placement_;
  std::string stack_;
  NetworkConstants::Found scale_up_, bridge_, network_;
  bool other_tree_ = false;    // a bus's curves are of other GPUs' servers
  FittedAcross across_;        // of the network,
  bool has_across_ = false;    // or what stands in for it
  std::vector<Route> routes_;  // of the plan's groups
  CostCurve unknown_;
};

}  // namespace orrery
