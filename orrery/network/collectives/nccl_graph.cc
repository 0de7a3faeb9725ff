#include "orrery/network/collectives/nccl_graph.h"

#include <algorithm>

#include "orrery/network/collectives/cost.h"

namespace orrery {
namespace {

constexpr int kBoardChannels = 12, kMostHeads = 8;
constexpr double kNvlinkShare = 0.8;  // 20, 20.6 and 40.1 of 25, 25 and 50 GB/s a link
constexpr double kNvlsParts = 9;      // 450 * 0.8 / 9 = 40, 900 * 0.8 / 9 = 80
constexpr Seconds kTableLatency = microseconds(2.7);  // of a message over InfiniBand, LL
constexpr double kNicShare = 0.96;                    // 48 of 50 GB/s
constexpr double kNvlinkAcross = 0.86;                // 8 channels of 48 GB/s pass an H100's 450

NcclGeneration generation_of(const Gpu& gpu) {
  const std::string& a = gpu.architecture;
  if (a == "hopper") return NcclGeneration::kHopper;
  if (a == "blackwell") return NcclGeneration::kBlackwell;
  if (a == "volta" || a == "pascal" || a == "turing") return NcclGeneration::kVolta;
  return NcclGeneration::kAmpere;
}

BytesPerSecond scale_up_bandwidth(const Cluster& cluster, int ranks) {
  return cluster.scale_up() == nullptr ? BytesPerSecond(0)
                                       : cluster.scale_up()->bandwidth(std::max(ranks, 2));
}

}  // namespace

Seconds nic_latency(const Fabric& network) {
  return std::max(Seconds(0), network.latency - kTableLatency);
}

NcclGraph nccl_graph(const Cluster& cluster, const GroupLink& link, bool collnet) {
  NcclGraph g;
  const bool nvidia = cluster.gpu().vendor == "nvidia";
  g.generation = generation_of(cluster.gpu());
  g.ranks_per_node = link.ranks_per_node;
  g.nodes = link.nodes;
  g.nvlink = cluster.scale_up() != nullptr && cluster.scale_up()->kind != FabricKind::kBus;
  const BytesPerSecond inside =
      link.nodes == 1 ? link.bandwidth : scale_up_bandwidth(cluster, link.ranks_per_node);
  if (link.nodes == 1) {
    g.channels = kBoardChannels;
    g.intra = g.inter = inside * kNvlinkShare / g.channels;
  } else {
    const bool alone = link.ranks_per_node == 1;
    g.channels = alone ? 2 : std::min(link.ranks_per_node, kMostHeads);
    g.inter = link.bandwidth * kNicShare * (alone ? 0.5 : 1.0);
    if (!alone) g.inter = std::min(g.inter, inside * kNvlinkAcross / g.channels);
    g.intra = g.inter;
  }
  if (link.nodes > 1) {
    g.nic_latency = nic_latency(*link.fabric);
    g.collnet = collnet && link.fabric->in_network_reduction;
  }
  const Fabric* fabric = cluster.scale_up();
  if (nvidia && fabric != nullptr && fabric->in_network_reduction && link.ranks_per_node > 1) {
    g.nvls_channels = std::min(link.ranks_per_node, kMostHeads);
    g.nvls = inside * kNvlinkShare / kNvlsParts;
  }
  return g;
}

Seconds port_time(const GroupLink& link, Collective::Kind kind, int ranks, Bytes bytes, bool ring,
                  bool collnet) {
  using Kind = Collective::Kind;
  if (link.nodes == 1) return Seconds(0);
  const double nodes = link.nodes;
  if (kind == Kind::kSend) return bytes / link.bandwidth;
  // Each rank sends to the other nodes' ranks; other collectives share a node's ports.
  if (kind == Kind::kAllToAll) return bytes * (nodes - 1) / nodes / link.bandwidth;
  const bool once = collnet && kind == Kind::kAllReduce;
  const double factor = once ? 1 : bus_factor(kind, ring ? ranks : link.nodes);
  return bytes / link.ranks_per_node * factor / link.bandwidth;
}

Seconds bisection_bound(const Cluster& cluster, const GroupLink& link, Collective::Kind kind,
                        Bytes bytes, bool collnet) {
  using Kind = Collective::Kind;
  const bool adds_up = cluster.scale_up() != nullptr && cluster.scale_up()->in_network_reduction;
  const auto through_link = [&](int ranks, BytesPerSecond bandwidth) {
    const double factor = kind == Kind::kAllReduce && adds_up ? 1 : bus_factor(kind, ranks);
    return bytes * factor / bandwidth;
  };
  if (link.nodes == 1) return through_link(link.ranks_per_node, link.bandwidth);
  const Seconds ports = port_time(link, kind, link.nodes, bytes, false, collnet);
  if (kind == Kind::kSend || kind == Kind::kAllToAll || link.ranks_per_node == 1) return ports;
  return std::max(
      ports, through_link(link.ranks_per_node, scale_up_bandwidth(cluster, link.ranks_per_node)));
}

}  // namespace orrery
