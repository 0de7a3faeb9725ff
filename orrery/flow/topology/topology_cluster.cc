// cluster_topology: nodes joined by a network.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "orrery/base/error.h"
#include "orrery/base/index.h"
#include "orrery/flow/topology/cluster_layout.h"
#include "orrery/flow/topology/topology_build.h"

namespace orrery {
namespace {

// The NVLinks between the GPUs of a DGX-1: two fully connected quads, and links between their
// members of the same number. With V100 a GPU has six links, some of them double; with P100 it has
// four single ones (NVIDIA DGX-1 system architecture white papers).
constexpr std::array<std::array<int, 8>, 8> kCubeMesh = {{{0, 1, 1, 2, 2, 0, 0, 0},
                                                          {1, 0, 2, 1, 0, 2, 0, 0},
                                                          {1, 2, 0, 2, 0, 0, 1, 0},
                                                          {2, 1, 2, 0, 0, 0, 0, 1},
                                                          {2, 0, 0, 0, 0, 1, 1, 2},
                                                          {0, 2, 0, 0, 1, 0, 2, 1},
                                                          {0, 0, 1, 0, 1, 2, 0, 2},
                                                          {0, 0, 0, 1, 2, 1, 2, 0}}};

class Builder {
 public:
  explicit Builder(const ClusterPlan& plan) : plan_(plan) {}

  Topology build() {
    check();
    layout_->network = plan_.network;
    for (const NodePlan& n : plan_.nodes) gpus_ += n.gpus * n.count;
    for (const NodePlan& n : plan_.nodes) {
      for (int i = 0; i < n.count; ++i) place(n);
    }
    join();
    const std::string name = plan_.name.empty() ? "cluster" : plan_.name;
    auto layout = layout_;
    return Topology(
        name, gpus_, std::move(names_), std::move(links_),
        [layout](int from, int to, std::vector<LinkId>& path) { route(*layout, from, to, path); });
  }

 private:
  void check() const {
    std::int64_t gpus = 0, nodes = 0;
    const auto fail = [](std::string_view what) { throw InputError(std::string(what)); };
    for (const NodePlan& n : plan_.nodes) {
      if (n.count < 1 || n.gpus < 1)
        fail("a node needs at least one GPU, and a count of 1 or more");
      gpus += static_cast<std::int64_t>(n.gpus) * n.count;
      nodes += n.count;
      if (gpus > kMostGpus) fail(fmt::format("more than {} GPUs", kMostGpus));
      if (n.gpus > 1 && !(n.bandwidth > BytesPerSecond(0))) {
        fail("the GPUs of a node need a bandwidth above zero");
      }
      if (n.inside == Inside::kCubeMesh &&
          (n.gpus != 8 || (n.cube_links != 4 && n.cube_links != 6))) {
        fail("a cube mesh has eight GPUs with 4 or 6 links each");
      }
      if (n.inside == Inside::kBus && n.gpus_per_switch < 1) fail("gpus_per_switch is at least 1");
      if (n.inside == Inside::kTorus) {
        std::int64_t product = 1;
        for (std::int64_t s : n.torus) product = s < 1 || s > kMostGpus ? 0 : product * s;
        if (product != n.gpus) fail(fmt::format("the torus' sizes do not make {} GPUs", n.gpus));
      }
      if (n.inside == Inside::kMesh && n.gpus > 1024) fail("a mesh has at most 1024 GPUs");
      if (n.bridged > 0 && (n.bridged < 2 || n.gpus % n.bridged != 0)) {
        fail(fmt::format("groups of {} bridged GPUs do not divide {}", n.bridged, n.gpus));
      }
    }
    if (nodes == 0) fail("a cluster needs at least one node");
    if (nodes == 1) return;
    for (const NodePlan& n : plan_.nodes) {
      if (n.ports < 1) fail("several nodes need ports to the network");
      if (!(n.port_bandwidth > BytesPerSecond(0))) fail("a port needs a bandwidth above zero");
      if (n.ports < n.gpus && n.gpus % n.ports != 0) {
        fail(fmt::format("{} ports do not divide {} GPUs evenly", n.ports, n.gpus));
      }
      if (plan_.network.rails && std::min(n.ports, n.gpus) != std::min(plan_.nodes.front().ports,
                                                                       plan_.nodes.front().gpus)) {
        fail("nodes on rails need the same number of ports");
      }
    }
    const NetworkPlan& w = plan_.network;
    if (w.kind == NetworkPlan::Kind::kNone) fail("several nodes need a network");
    if (w.kind == NetworkPlan::Kind::kFatTree) {
      for (const TierPlan& t : w.tiers) {
        if (t.children < 1 || !(t.oversubscription >= 1) || !std::isfinite(t.oversubscription)) {
          fail("a tier needs children >= 1 and oversubscription >= 1");
        }
      }
      if (w.tiers.empty()) fail("a fat tree needs at least one tier");
      if (w.spines < 1 || w.spines > 1024) fail("a fat tree has 1 to 1024 spines");
    }
    if (w.kind == NetworkPlan::Kind::kDragonfly) {
      if (w.nodes_per_router < 1 || w.routers_per_group < 1) {
        fail("a dragonfly needs nodes_per_router and routers_per_group of at least 1");
      }
      if (!(w.local_bandwidth > BytesPerSecond(0)) || !(w.global_bandwidth > BytesPerSecond(0))) {
        fail("a dragonfly needs local_bandwidth and global_bandwidth above zero");
      }
      if (w.rails) fail("a dragonfly has no rails");
    }
  }

  VertexId vertex(std::string name) {
    names_.push_back(std::move(name));
    return gpus_ + static_cast<VertexId>(names_.size()) - 1;
  }
  LinkId next_link() const { return static_cast<LinkId>(links_.size()); }
  void link(VertexId from, VertexId to, BytesPerSecond bandwidth, Seconds latency) {
    if (links_.size() >= Topology::kMostLinks) {
      throw InputError(fmt::format("more than {} links", Topology::kMostLinks));
    }
    links_.push_back({from, to, bandwidth, latency});
  }
  void cable(VertexId a, VertexId b, BytesPerSecond bandwidth, Seconds latency) {
    link(a, b, bandwidth, latency);
    link(b, a, bandwidth, latency);
  }

  void place(const NodePlan& n) {
    const int number = static_cast<int>(layout_->nodes.size());
    PlacedNode node{n, static_cast<int>(layout_->node_of.size()), next_link(), 0, 0, 0};
    layout_->node_of.resize(layout_->node_of.size() + static_cast<std::size_t>(n.gpus), number);
    const int g0 = node.first_gpu;
    if (n.gpus > 1) {
      switch (n.inside) {
        case Inside::kSwitch: {
          const VertexId s = vertex(fmt::format("node{}.switch", number));
          for (int g = 0; g < n.gpus; ++g) cable(g0 + g, s, n.bandwidth, n.latency / 2);
          break;
        }
        case Inside::kMesh:
          for (int g = 0; g < n.gpus; ++g) {
            for (int k = 1; k < n.gpus; ++k) {
              link(g0 + g, g0 + (g + k) % n.gpus, n.bandwidth / (n.gpus - 1), n.latency);
            }
          }
          break;
        case Inside::kCubeMesh:
          for (int a = 0; a < 8; ++a) {
            for (int b = 0; b < 8; ++b) {
              const int most = n.cube_links == 6 ? 2 : 1;
              const int lanes = std::min(most, kCubeMesh[index(a)][index(b)]);
              if (lanes > 0) link(g0 + a, g0 + b, n.bandwidth * lanes / n.cube_links, n.latency);
            }
          }
          if (!layout_->cube) {
            std::vector<Link> local(links_.begin() + node.inside, links_.end());
            for (Link& l : local) l.from -= g0, l.to -= g0;
            layout_->cube =
                std::make_unique<Topology>("cube", 8, std::vector<std::string>{}, local);
          }
          break;
        case Inside::kBus: {
          // A switch's way to the host is one slot wide.
          const int switches = (n.gpus + n.gpus_per_switch - 1) / n.gpus_per_switch;
          const VertexId host = vertex(fmt::format("node{}.host", number));
          const BytesPerSecond rate = n.peer_to_peer ? n.bandwidth : n.bandwidth / 2;
          std::vector<VertexId> of;
          for (int s = 0; s < switches; ++s) {
            of.push_back(vertex(fmt::format("node{}.pcie{}", number, s)));
          }
          for (int g = 0; g < n.gpus; ++g) {
            cable(g0 + g, of[index(g / n.gpus_per_switch)], rate, n.latency / 2);
          }
          for (VertexId s : of) cable(s, host, n.bandwidth, n.latency / 4);
          break;
        }
        case Inside::kTorus: {
          const Topology inner = torus(n);
          for (const Link& l : inner.links()) link(g0 + l.from, g0 + l.to, l.bandwidth, l.latency);
          break;
        }
      }
    }
    node.bridge = next_link();
    if (n.bridged > 1) {
      for (int g = 0; g < n.gpus; ++g) {
        const int base = g / n.bridged * n.bridged;
        for (int k = 1; k < n.bridged; ++k) {
          link(g0 + g, g0 + base + (g - base + k) % n.bridged, n.bridge_bandwidth / (n.bridged - 1),
               n.bridge_latency);
        }
      }
    }
    layout_->nodes.push_back(std::move(node));
  }

  static Topology torus(const NodePlan& n) {
    std::vector<DimensionPlan> dims;
    int used = 0;
    for (std::int64_t s : n.torus) used += s > 1 ? 2 : 0;
    for (std::int64_t s : n.torus) {
      dims.push_back(
          {Wiring::kRing, static_cast<int>(s), n.bandwidth / std::max(used, 1), n.latency});
    }
    return dimensions_topology(dims);
  }

  // Adds the ports and the network between them.
  void join() {
    const int nodes = static_cast<int>(layout_->nodes.size());
    if (nodes == 1) return;
    const NetworkPlan& w = plan_.network;
    if (w.kind == NetworkPlan::Kind::kDragonfly) return dragonfly();
    const int planes = w.rails ? layout_->nodes.front().used_ports() : 1;
    std::vector<TierPlan> tiers = w.tiers;
    if (w.kind == NetworkPlan::Kind::kSwitch) tiers = {{nodes, 1}};
    // A level of a single switch is the top level.
    std::vector<int> span{1};
    for (std::size_t t = 0; t < tiers.size(); ++t) {
      const std::int64_t wide = static_cast<std::int64_t>(span.back()) * tiers[t].children;
      span.push_back(static_cast<int>(std::min<std::int64_t>(wide, nodes)));
      if (span.back() >= nodes) break;
    }
    const std::size_t levels = span.size() - 1;
    // The switches of level t (0 = leaves) of each plane with their links up, and the top level.
    std::vector<std::vector<VertexId>> leaves(static_cast<std::size_t>(planes));
    std::vector<std::vector<std::vector<VertexId>>> switches(static_cast<std::size_t>(planes));
    for (int p = 0; p < planes; ++p) {
      const std::string rail = planes > 1 ? fmt::format("rail{}.", p) : "";
      for (std::size_t t = 0; t < levels; ++t) {
        std::vector<VertexId> level;
        for (int s = 0; s * span[t + 1] < nodes; ++s) {
          level.push_back(vertex(t == 0 ? fmt::format("{}leaf{}", rail, s)
                                        : fmt::format("{}tier{}.switch{}", rail, t + 1, s)));
        }
        switches[index(p)].push_back(std::move(level));
      }
      leaves[index(p)] = switches[index(p)].front();
    }
    for (int i = 0; i < nodes; ++i) {
      attach(i, [&](int port) { return leaves[index(planes > 1 ? port : 0)][index(i / span[1])]; });
    }
    for (int p = 0; p < planes; ++p) {
      const std::string rail = planes > 1 ? fmt::format("rail{}.", p) : "";
      layout_->planes.emplace_back();
      std::vector<BytesPerSecond> below = leaf_capacity(planes, span[1]);
      for (std::size_t t = 0; t < levels; ++t) {
        const auto& level = switches[index(p)][t];
        const TierPlan& tier = tiers[t];
        SwitchLevel placed{span[t + 1], 1, next_link(), static_cast<int>(level.size())};
        if (level.size() > 1) {
          // Above: switches of the next level, or the top; `ways` of them side by side.
          const bool last = t + 1 == levels;
          placed.ways = last ? w.spines : 1;
          std::vector<VertexId> top;
          for (int k = 0; last && k < placed.ways; ++k) {
            top.push_back(vertex(placed.ways > 1 ? fmt::format("{}top{}", rail, k)
                                                 : fmt::format("{}top", rail)));
          }
          std::vector<BytesPerSecond> above;
          for (std::size_t s = 0; s < level.size(); ++s) {
            const BytesPerSecond up = below[s] / tier.oversubscription;
            for (int k = 0; k < placed.ways; ++k) {
              const VertexId upper =
                  last ? top[index(k)]
                       : switches[index(p)][t + 1][s * index(span[t + 1]) / index(span[t + 2])];
              cable(level[s], upper, up / placed.ways, w.hop_latency / 2);
            }
            if (!last) {
              const auto parent =
                  s * static_cast<std::size_t>(span[t + 1]) / static_cast<std::size_t>(span[t + 2]);
              if (above.size() <= parent) above.resize(parent + 1);
              above[parent] += up;
            }
          }
          below = std::move(above);
        }
        layout_->planes.back().push_back(placed);
      }
    }
  }

  // The bandwidth of all ports on each leaf of one plane.
  std::vector<BytesPerSecond> leaf_capacity(int planes, int span) const {
    std::vector<BytesPerSecond> sum;
    for (std::size_t i = 0; i < layout_->nodes.size(); ++i) {
      const std::size_t leaf = i / static_cast<std::size_t>(span);
      if (sum.size() <= leaf) sum.resize(leaf + 1);
      const NodePlan& n = layout_->nodes[i].plan;
      sum[leaf] += n.port_bandwidth * n.ports / (planes > 1 ? planes : 1);
    }
    return sum;
  }

  // Adds the links from the ports of node i to the switch that `leaf(port)` gives.
  template <class LeafOf>
  void attach(int i, LeafOf leaf) {
    PlacedNode& node = layout_->nodes[index(i)];
    const NodePlan& n = node.plan;
    const int ports = node.used_ports();
    const BytesPerSecond rate = n.port_bandwidth * (static_cast<double>(n.ports) / ports);
    std::vector<VertexId> port;
    node.nic = next_link();
    if (node.shared_ports()) {
      for (int p = 0; p < ports; ++p) port.push_back(vertex(fmt::format("node{}.nic{}", i, p)));
      for (int g = 0; g < n.gpus; ++g) {
        cable(node.first_gpu + g, port[index(node.port_of(g))], rate, Seconds(0));
      }
    } else {
      for (int g = 0; g < n.gpus; ++g) port.push_back(node.first_gpu + g);
    }
    node.ports = next_link();
    for (int p = 0; p < ports; ++p) {
      cable(port[index(p)], leaf(p), rate, n.port_latency / 2);
    }
  }

  void dragonfly() {
    const NetworkPlan& w = plan_.network;
    const int nodes = static_cast<int>(layout_->nodes.size());
    ClusterLayout& l = *layout_;
    l.routers = (nodes + w.nodes_per_router - 1) / w.nodes_per_router;
    l.groups = (l.routers + w.routers_per_group - 1) / w.routers_per_group;
    l.routers = l.groups * w.routers_per_group;
    std::vector<VertexId> router;
    for (int r = 0; r < l.routers; ++r) router.push_back(vertex(fmt::format("router{}", r)));
    for (int i = 0; i < nodes; ++i) {
      attach(i, [&](int) { return router[index(i / w.nodes_per_router)]; });
    }
    const auto at = [&](int r) { return router[index(r)]; };
    const int a = w.routers_per_group;
    l.local = next_link();
    for (int r = 0; r < l.routers; ++r) {
      const int base = r / a * a;
      for (int k = 1; k < a; ++k)
        link(at(r), at(base + (r - base + k) % a), w.local_bandwidth, w.hop_latency);
    }
    l.global = next_link();
    for (int g = 0; g < l.groups; ++g) {
      for (int k = 1; k < l.groups; ++k) {
        const int other = (g + k) % l.groups;
        link(at(g * a + dragonfly_gateway(l, g, other)),
             at(other * a + dragonfly_gateway(l, other, g)), w.global_bandwidth, w.hop_latency);
      }
    }
  }

  const ClusterPlan& plan_;
  std::shared_ptr<ClusterLayout> layout_ = std::make_shared<ClusterLayout>();
  int gpus_ = 0;
  std::vector<std::string> names_;
  std::vector<Link> links_;
};

}  // namespace

Topology cluster_topology(const ClusterPlan& plan) { return Builder(plan).build(); }

}  // namespace orrery
