// Times of collectives of several nodes: NCCL's tuner with the factors that were fitted to the
// network, and sends between single ranks over their ports.
#pragma once

#include "orrery/network/collectives/fabric_times.h"
#include "orrery/network/collectives/judged_time.h"
#include "orrery/network/collectives/measured_cluster.h"
#include "orrery/network/collectives/tuner_routes.h"

namespace orrery {

class InterNodeTimes {
 public:
  // All three outlive the times.
  InterNodeTimes(const MeasuredCluster& known, const TunerRoutes& routes,
                 const FabricTimes& fabrics)
      : known_(known), routes_(routes), fabrics_(fabrics) {}

  // The time of `c`, whose group has `link` between its nodes. REQUIRES link.nodes > 1, and that
  // the forced pair is offered.
  JudgedTime of(const Collective& c, const GroupLink& link, const RankPlacement& p,
                const ForcedChoice& forced) const;

 private:
  JudgedTime by_tuner(const Collective& c, const GroupLink& link, const RankPlacement& p,
                      const ForcedChoice& forced) const;
  JudgedTime by_sends(const Collective& c, const GroupLink& link, const RankPlacement& p) const;

  const MeasuredCluster& known_;
  const TunerRoutes& routes_;
  const FabricTimes& fabrics_;
};

}  // namespace orrery
