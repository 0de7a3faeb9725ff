#include "orrery/network/collectives/inter_node_times.h"

#include <algorithm>
#include <cmath>

#include "orrery/network/collectives/library_curve.h"
#include "orrery/network/wires/uplinks.h"

namespace orrery {
namespace {

// Reductions in the network's switches were never measured. They err as on a network that the fit
// has not used (start_elsewhere 0.95 and width_elsewhere 0.34 in catalog/network).
constexpr PartErrors kCollnetParts{0.95, 0.35, 0};
// The error of the transfer of an all-to-all or send across nodes, of which no measurements are
// public: a guess between that of a network that was measured (0.10) and of one that was not.
constexpr double kPeersWidth = 0.25;

// Lengthens the transfer by what the uplinks of leaf switches carry less than its ports
// (uplinks.h).
void wait_for_uplinks(double factor, JudgedTime& choice) {
  if (factor <= 1) return;
  // The term was never measured. Its interval reaches from a transfer without it to one that waits
  // twice as long, in logarithms.
  const Seconds wait = choice.time.transfer * (factor - 1);
  const double own = std::log(1 + wait / choice.time.total) / heavy_quantile(0.95);
  choice.time.transfer += wait;
  choice.time.total += wait;
  choice.shared = std::hypot(choice.shared.value_or(0), own);
  choice.weaken(Origin::kTransferred);
}

}  // namespace

JudgedTime InterNodeTimes::of(const Collective& c, const GroupLink& link, const RankPlacement& p,
                              const ForcedChoice& forced) const {
  return is_point_to_point(c.kind) ? by_sends(c, link, p) : by_tuner(c, link, p, forced);
}

JudgedTime InterNodeTimes::by_tuner(const Collective& c, const GroupLink& link,
                                    const RankPlacement& p, const ForcedChoice& forced) const {
  const bool collnet = is_collnet(forced);
  const PartErrors& errors = known_.errors_between_nodes();
  std::optional<TunerInputs> scratch;
  const TunerInputs& t = routes_.of(c, p, forced, scratch);
  JudgedTime choice;
  choice.time = library_time(known_.inter_node.curve, t.costs, c.bytes,
                             known_.bound(c, link, p, collnet), forced);
  choice.algorithm = nccl_choose(t.costs, c.bytes, forced)->algorithm;
  choice.error = errors.curve;
  choice.origin = collnet ? Origin::kAnalytical : known_.origin_between_nodes();
  choice.shared = (collnet ? kCollnetParts : errors).parts(choice.time);
  choice.most_ranks = known_.inter_node.most_ranks;
  if (choice.most_ranks > 0 && c.ranks > choice.most_ranks) choice.weaken(Origin::kTransferred);
  const bool ring = choice.algorithm == CollectiveAlgorithm::kRing;
  wait_for_uplinks(uplink_factor(known_.cluster, link, stride_of(c, p),
                                 ring ? UplinkPattern::kRing : UplinkPattern::kTree),
                   choice);
  known_.judge_version(known_.inter_node.versions, c.bytes, choice);
  if (t.within.fabric == nullptr) return choice;
  // The group is no faster than its ranks within one node, which matters where a slow host was
  // measured inside a node only. The upper end is that of the later of the two intervals.
  const JudgedTime inner = fabrics_.of(c, t.within, t.within.ranks_per_node, "library", {});
  if (inner.time.total <= choice.time.total) return choice;
  const double ahead = std::log(inner.time.total / choice.time.total);
  const double reach = estimate_of(choice).sigma() - ahead / heavy_quantile(0.95);
  if (reach <= estimate_of(inner).sigma()) return inner;
  choice.time = inner.time;
  choice.shared = reach, choice.error = 0;
  return choice;
}

JudgedTime InterNodeTimes::by_sends(const Collective& c, const GroupLink& link,
                                    const RankPlacement& p) const {
  JudgedTime choice;
  choice.algorithm = CollectiveAlgorithm::kDirect;
  choice.error = known_.errors_between_nodes().curve;
  choice.origin = known_.origin_between_nodes();
  Seconds local;
  Bytes leaving = c.bytes;
  if (c.kind == Collective::Kind::kAllToAll) {
    leaving *= static_cast<double>(link.nodes - 1) / link.nodes;
    if (link.ranks_per_node > 1) {
      // The node's own ranks get 1/nodes of an all-to-all's bytes.
      Collective within = c;
      within.bytes = c.bytes / link.nodes;
      const GroupLink node = known_.cluster.link(link.ranks_per_node, stride_of(c, p));
      const JudgedTime inner = fabrics_.of(within, node, link.ranks_per_node, "library", {});
      local = inner.time.transfer;
      choice.weaken(inner.origin);
    }
  }
  const bool pair = c.kind == Collective::Kind::kSend;
  choice.time = point_to_point_time(known_.inter_node.curve, known_.tables,
                                    {pair ? 2 : c.ranks, nic_latency(known_.tables, *link.fabric),
                                     leaving, link.bandwidth, local});
  // No measured table of these across nodes was fitted.
  choice.weaken(Origin::kTransferred);
  choice.shared = PartErrors{known_.inter_node.elsewhere.start, kPeersWidth, 0}.parts(choice.time);
  wait_for_uplinks(uplink_factor(known_.cluster, link, stride_of(c, p),
                                 pair ? UplinkPattern::kRing : UplinkPattern::kAllPairs),
                   choice);
  return choice;
}

}  // namespace orrery
