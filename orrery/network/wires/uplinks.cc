#include "orrery/network/wires/uplinks.h"

#include <algorithm>

namespace orrery {

double uplink_share(const Cluster& cluster, const GroupLink& link, int stride,
                    UplinkPattern pattern) {
  const double leaf = cluster.node_type().network.leaf_nodes;
  const double nodes = link.nodes;
  if (leaf <= 0 || nodes <= 1) return 0;
  const double apart = std::max(1, stride / cluster.node_type().gpu_count);
  if (nodes * apart <= leaf) return 0;
  if (pattern == UplinkPattern::kRing) return std::min(1.0, apart / leaf);
  if (pattern == UplinkPattern::kAllPairs) {
    const double below = std::max(1.0, leaf / apart);
    return std::max(0.0, nodes - below) / (nodes - 1);
  }
  double share = 0, edges = 0.5;
  for (double reach = 1; reach < nodes; reach *= 2, edges /= 2)
    share += edges * std::min(1.0, reach * apart / leaf);
  return share;
}

double uplink_factor(const Cluster& cluster, const GroupLink& link, int stride,
                     UplinkPattern pattern) {
  const double over = cluster.node_type().network.oversubscription;
  return over <= 1 ? 1.0 : std::max(1.0, over * uplink_share(cluster, link, stride, pattern));
}

}  // namespace orrery
