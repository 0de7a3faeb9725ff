#include <algorithm>
#include <cmath>

#include "orrery/network/collectives/curve_network.h"

namespace orrery {

// The two domains are a group of twice the ranks over the network. Its factors were measured with
// such domains if they belong to a class of GPUs of their own. One domain takes part in the group,
// so that it is not the slower one, and the upper end of its interval is not above the other's.
void CurveNetwork::limit_by_two_domains(const Collective& c, Choice& choice) const {
  if (c.kind != Collective::Kind::kAllReduce || cluster_.scale_up()->kind != FabricKind::kSwitch)
    return;
  const bool measured = has_inter_node_ && inter_node_.rows > 0 && !inter_node_.gpus.empty() &&
                        network_.origin < Origin::kTransferred;
  if (!measured) return;
  if (2 * c.ranks > inter_node_.most_ranks) return;
  const GroupLink link{cluster_.network(), cluster_.network_per_gpu(), c.ranks, 2, 1};
  const NcclGraph graph = nccl_graph(tables_, cluster_, link, {}, version_);
  Choice both;
  both.time = library_time(inter_node_.curve, nccl_costs(graph, c.kind), c.bytes,
                           bisection_bound(cluster_, link, c.kind, c.bytes));
  both.shared = inter_node_.errors.parts(both.time);
  both.error = inter_node_.errors.curve;
  const double ahead = std::log(both.time.total / choice.time.total);
  if (ahead < 0) {
    choice.time.total = both.time.total;
    choice.time.latency = std::min(choice.time.latency, both.time.total);
    choice.time.transfer = std::min(choice.time.transfer, both.time.total);
  }
  const double reach = estimate(both).sigma() + std::max(0.0, ahead) / heavy_quantile(0.95);
  if (reach < estimate(choice).sigma()) choice.shared = reach, choice.error = 0;
}

}  // namespace orrery
