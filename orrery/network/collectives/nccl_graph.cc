#include "orrery/network/collectives/nccl_graph.h"

#include <algorithm>

#include "orrery/network/algorithms/cost.h"

namespace orrery {
namespace {

BytesPerSecond scale_up_bandwidth(const Cluster& cluster, int ranks) {
  return cluster.scale_up() == nullptr ? BytesPerSecond(0)
                                       : cluster.scale_up()->bandwidth(std::max(ranks, 2));
}

}  // namespace

Seconds nic_latency(const NcclTables& tables, const Fabric& network) {
  return std::max(Seconds(0), network.latency - microseconds(ring_ll(tables.network)));
}

NcclGraph nccl_graph(const NcclTables& tables, const Cluster& cluster, const GroupLink& link,
                     const ForcedChoice& forced, std::optional<LibraryVersion> version) {
  const NcclTables::Graph& found = tables.graph;
  NcclGraph g;
  g.tables = &tables;
  g.version = version;
  const bool nvidia = cluster.gpu().vendor == "nvidia";
  g.generation = cluster.gpu().architecture.nccl;
  g.ranks_per_node = link.ranks_per_node;
  g.nodes = link.nodes;
  g.nvlink = cluster.scale_up() != nullptr && cluster.scale_up()->kind != FabricKind::kBus;
  const BytesPerSecond inside =
      link.nodes == 1 ? link.bandwidth : scale_up_bandwidth(cluster, link.ranks_per_node);
  if (link.nodes == 1) {
    g.channels = found.node_channels;
    g.intra = g.inter = inside * found.nvlink_share / g.channels;
  } else {
    const bool alone = link.ranks_per_node == 1;
    g.channels = alone ? found.lone_channels : std::min(link.ranks_per_node, found.most_heads);
    g.inter = link.bandwidth * found.nic_share * (alone ? 1.0 / found.lone_channels : 1.0);
    if (!alone) g.inter = std::min(g.inter, inside * found.nvlink_across / g.channels);
    g.intra = g.inter;
    if (!alone) g.tree = std::min(g.inter * 2.0, inside * found.nvlink_across / g.channels);
  }
  if (link.nodes > 1) {
    g.nic_latency = nic_latency(tables, *link.fabric);
    g.collnet = is_collnet(forced) && link.fabric->in_network_reduction;
  }
  g.symmetric = nvidia && is_symmetric(forced);
  const Fabric* fabric = cluster.scale_up();
  if (nvidia && fabric != nullptr && fabric->in_network_reduction && link.ranks_per_node > 1) {
    g.nvls_channels = std::min(link.ranks_per_node, found.most_heads);
    g.nvls = inside * found.nvlink_share / found.nvls_parts;
  }
  return g;
}

Seconds port_time(const GroupLink& link, Collective::Kind kind, int ranks, Bytes bytes, bool ring,
                  bool collnet) {
  using Kind = Collective::Kind;
  if (link.nodes == 1) return Seconds(0);
  const double nodes = link.nodes;
  if (kind == Kind::kSend) return bytes / link.bandwidth;
  // Every rank sends its own bytes to the ranks of other nodes. The ranks of a node share the bytes
  // of any other collective.
  if (kind == Kind::kAllToAll) return bytes * (nodes - 1) / nodes / link.bandwidth;
  const bool once = collnet && kind == Kind::kAllReduce;
  const double factor = once ? 1 : bus_factor(kind, ring ? ranks : link.nodes);
  return bytes / link.ranks_per_node * factor / link.bandwidth;
}

Seconds bisection_bound(const Cluster& cluster, const GroupLink& link, Collective::Kind kind,
                        Bytes bytes, bool collnet) {
  using Kind = Collective::Kind;
  const bool switch_reduces =
      cluster.scale_up() != nullptr && cluster.scale_up()->in_network_reduction;
  const auto through_link = [&](int ranks, BytesPerSecond bandwidth) {
    const double factor = kind == Kind::kAllReduce && switch_reduces ? 1 : bus_factor(kind, ranks);
    return bytes * factor / bandwidth;
  };
  // Bridged neighbours leave their group through the links of all its cards.
  if (link.nodes == 1) return through_link(link.ranks_per_node, link.bandwidth * link.bridged);
  const Seconds ports = port_time(link, kind, link.nodes, bytes, false, collnet);
  if (kind == Kind::kSend || kind == Kind::kAllToAll || link.ranks_per_node == 1) return ports;
  return std::max(
      ports, through_link(link.ranks_per_node, scale_up_bandwidth(cluster, link.ranks_per_node)));
}

}  // namespace orrery
