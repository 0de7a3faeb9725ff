// The network model that make_network_model returns: fitted curves within a node (fabric_times.h),
// the library's tuner with fitted factors between nodes (inter_node_times.h), and DeepEP's
// exchanges of tokens with experts (expert_exchange.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orrery/network/collectives/fabric_times.h"
#include "orrery/network/collectives/inter_node_times.h"
#include "orrery/network/collectives/measured_cluster.h"
#include "orrery/network/collectives/network_model.h"
#include "orrery/network/collectives/tuner_routes.h"

namespace orrery {

class CurveNetwork final : public NetworkModel {
 public:
  CurveNetwork(const Cluster& cluster, const ParallelPlan& plan, std::string stack,
               const Bundle& bundle, const std::vector<Cluster>& other_kinds,
               std::optional<LibraryVersion> version);

  CollectiveTime predict(const Collective& c) const override {
    return timed(c, {}, known_.placement);
  }
  CollectiveTime predict(const Collective& c, const RankPlacement& p) const override {
    return timed(c, {}, p);
  }
  CollectiveTime predict(const Collective& c, const ForcedChoice& forced) const override;
  CollectiveTime exchange(const ExpertExchange& x, Collective::Group group,
                          int ranks) const override {
    return exchange(x, group, ranks, known_.placement);
  }
  CollectiveTime exchange(const ExpertExchange& x, Collective::Group group, int ranks,
                          const RankPlacement& p) const override;
  CollectiveChoice choice(const Collective& c, const ForcedChoice& forced) const override;
  Seconds bound(const Collective& c, const ForcedChoice& forced) const override;
  std::string provenance(const Collective& c) const override;

 private:
  // REQUIRES that the pair is offered.
  CollectiveTime timed(const Collective& c, const ForcedChoice& forced,
                       const RankPlacement& p) const;
  JudgedTime judged(const Collective& c, const GroupLink& link, const RankPlacement& p,
                    const ForcedChoice& forced) const;
  // InputError: the forced pair is not offered.
  NcclChoice checked_choice(const Collective& c, const ForcedChoice& forced) const;

  const MeasuredCluster known_;
  const TunerRoutes routes_;
  const FabricTimes fabrics_;
  const InterNodeTimes inter_node_;
};

}  // namespace orrery
