#include "orrery/network/wires/pcie_rates.h"

#include <algorithm>

namespace orrery {
namespace {

constexpr double kIntelPackets = 6.0 / 5;
constexpr double kWriteAndRead = 2;

// The load of each link: bytes that it carries while every rank sends one byte.
class TreeLoad {
 public:
  TreeLoad(const Cluster& cluster, int ranks)
      : node_(cluster.node_type()),
        tree_(node_.pcie),
        card_(std::min(cluster.scale_up()->bandwidth(), cluster.gpu().host_link.bandwidth.value_or(
                                                            cluster.scale_up()->bandwidth()))),
        links_(cards(), {0, 0}),
        uplinks_(cards() / static_cast<std::size_t>(tree_.switch_gpus), {0, 0}),
        between_(sockets() * sockets(), 0),
        memory_(sockets(), 0) {
    const bool two = ranks <= 2 && tree_.cpu == CpuVendor::kAmd;
    level_ = tree_.p2p_level != DirectCopies::kDefault ? tree_.p2p_level
             : two                                     ? DirectCopies::kEverywhere
                                                       : DirectCopies::kBelowSwitches;
    if (!cluster.scale_up()->peer_to_peer) level_ = DirectCopies::kNever;
    bridged_ = cluster.bridge() != nullptr ? node_.bridge.gpus : 1;
  }

  void send(int from, int to, double bytes) {
    if (from / bridged_ == to / bridged_) return;
    const bool one_switch = tree_.switch_gpus > 1 && switch_of(from) == switch_of(to);
    const bool direct = level_ == DirectCopies::kEverywhere ||
                        (level_ == DirectCopies::kBelowSwitches && one_switch);
    if (direct && one_switch) {
      add(links_, from, to, bytes);
      return;
    }
    const bool split = direct && tree_.cpu == CpuVendor::kIntel;
    const double on_links = bytes * (split ? kIntelPackets : 1);
    add(links_, from, to, on_links);
    if (tree_.switch_gpus > 1) add(uplinks_, switch_of(from), switch_of(to), on_links);
    const std::size_t a = socket_of(from), b = socket_of(to);
    if (a != b) between_[a * sockets() + b] += bytes;
    if (!direct) memory_[b] += kWriteAndRead * bytes;
  }

  // Bytes a second of every rank.
  BytesPerSecond rate() const {
    Seconds slowest(0);  // for one byte of every rank
    const auto wait = [&slowest](double bytes, BytesPerSecond bandwidth) {
      if (bytes > 0) slowest = std::max(slowest, Bytes(bytes) / bandwidth);
    };
    for (const Load& l : links_) wait(std::max(l.up, l.down), card_);
    for (const Load& l : uplinks_) wait(std::max(l.up, l.down), card_ * tree_.uplinks);
    for (const double bytes : between_) wait(bytes, tree_.socket_bandwidth);
    if (tree_.memory_bandwidth)
      for (const double bytes : memory_) wait(bytes, *tree_.memory_bandwidth);
    return slowest > Seconds(0) ? Bytes(1) / slowest : card_;
  }

 private:
  struct Load {
    double up = 0, down = 0;
  };

  static void add(std::vector<Load>& links, std::size_t from, std::size_t to, double bytes) {
    links[from].up += bytes;
    links[to].down += bytes;
  }
  static void add(std::vector<Load>& links, int from, int to, double bytes) {
    add(links, static_cast<std::size_t>(from), static_cast<std::size_t>(to), bytes);
  }
  std::size_t cards() const { return static_cast<std::size_t>(node_.gpu_count); }
  std::size_t sockets() const { return static_cast<std::size_t>(tree_.sockets); }
  std::size_t switch_of(int card) const {
    return static_cast<std::size_t>(card / tree_.switch_gpus);
  }
  std::size_t socket_of(int card) const {
    return static_cast<std::size_t>(card / (node_.gpu_count / tree_.sockets));
  }

  const NodeType& node_;
  const PcieTree& tree_;
  BytesPerSecond card_;  // of a card's own link
  DirectCopies level_ = DirectCopies::kDefault;
  int bridged_ = 1;
  std::vector<Load> links_, uplinks_;
  std::vector<double> between_, memory_;
};

}  // namespace

PcieRates pcie_rates(const Cluster& cluster, int ranks, int stride) {
  TreeLoad ring(cluster, ranks), pairs(cluster, ranks);
  const int cards = std::min(cluster.gpus(), cluster.node_type().gpu_count);
  for (int first = 0; first < cards; ++first) {
    if (first / stride % ranks != 0) continue;  // a later member of a group
    if (first + (ranks - 1) * stride >= cards) continue;
    for (int k = 0; k < ranks; ++k) {
      const int here = first + k * stride, next = first + (k + 1) % ranks * stride;
      ring.send(here, next, 0.5);
      ring.send(next, here, 0.5);
      for (int other = 0; other < ranks; ++other)
        if (other != k) pairs.send(here, first + other * stride, 1.0 / (ranks - 1));
    }
  }
  return {ring.rate(), pairs.rate()};
}

PcieServer::PcieServer(const Cluster& cluster) {
  const Fabric* bus = cluster.scale_up();
  if (!cluster.node_type().pcie.described() || bus == nullptr || bus->kind != FabricKind::kBus)
    return;
  bus_ = bus;
  const int cards = std::min(cluster.gpus(), cluster.node_type().gpu_count);
  for (int ranks = 2; ranks <= cards; ++ranks) {
    for (int stride = 1; (ranks - 1) * stride < cards && ranks * stride <= cluster.gpus();
         ++stride) {
      if (cluster.link(ranks, stride).fabric == bus)
        groups_.push_back({ranks, stride, pcie_rates(cluster, ranks, stride)});
    }
  }
}

const PcieRates* PcieServer::of(const GroupLink& link) const {
  if (bus_ == nullptr || link.nodes != 1 || link.fabric != bus_) return nullptr;
  const auto found = std::find_if(groups_.begin(), groups_.end(), [&](const Group& g) {
    return g.ranks == link.ranks_per_node && g.stride == link.stride;
  });
  return found == groups_.end() ? nullptr : &found->rates;
}

}  // namespace orrery
