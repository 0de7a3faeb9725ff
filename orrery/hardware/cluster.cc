#include "orrery/hardware/cluster.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/error.h"

namespace orrery {
namespace {

constexpr int kMostPorts = 1024;  // of a node

int quotient_up(int a, int b) { return (a + b - 1) / b; }

// The bandwidth of the fabric or of the GPU's own link to it, whichever is less.
BytesPerSecond reached(const Gpu& gpu, const Fabric& fabric, int ranks) {
  const BytesPerSecond offered = fabric.bandwidth(ranks);
  if (fabric.kind == FabricKind::kBus) {
    return std::min(offered, gpu.host_link.bandwidth.value_or(offered));
  }
  return gpu.scale_up.kind.empty() ? offered : std::min(offered, gpu.scale_up.bandwidth);
}

// A network between nodes as a name states it: "ib-hdr", or "4xib-hdr" with four ports a node.
struct NamedNetwork {
  Fabric fabric;
  std::optional<int> ports;
};

std::optional<NamedNetwork> find_network(const Catalog& catalog, std::string_view name) {
  std::optional<int> ports;
  int number = 0;
  const char* const end = name.data() + name.size();
  const auto [last, error] = std::from_chars(name.data(), end, number);
  if (error == std::errc() && last != end && *last == 'x' && number >= 1 && number <= kMostPorts) {
    ports = number;
    name.remove_prefix(static_cast<std::size_t>(last - name.data()) + 1);
  }
  try {
    return NamedNetwork{catalog.fabric(name), ports};
  } catch (const InputError&) {
    return std::nullopt;
  }
}

NodeType with_network(NodeType node, const NamedNetwork& network) {
  const Fabric& fabric = network.fabric;
  if (fabric.kind != FabricKind::kNic)
    throw InputError(fmt::format(
        "{} connects GPUs inside a node; name a node type, or a fabric between nodes such as "
        "ib-ndr (orrery list nodes, orrery list fabrics)",
        fabric.id));
  if (node.network.ports < 1)
    throw InputError(fmt::format(
        "node {} has no ports for {}: name a node type (orrery list nodes)", node.id, fabric.id));
  const int ports = network.ports.value_or(node.network.ports);
  if (node.network.fabric == fabric.id && node.network.ports == ports) return node;
  node.id += " on " + (network.ports ? fmt::format("{} x ", ports) : "") + fabric.id;
  node.network.fabric = fabric.id;
  node.network.ports = ports;
  return node;
}

// The node of the catalog that is sold with the GPU, the network and another number of ports than
// the GPU's usual node has: the machines of a cloud, whose cards are of another rate. Nothing if
// there is none.
std::optional<NodeType> sold_with(const Catalog& catalog, const Gpu& gpu, const NodeType& usual,
                                  const Fabric& fabric) {
  for (const std::string& id : catalog.node_type_ids()) {
    const NodeType node = catalog.node_type(id);
    if (node.network.fabric != fabric.id || node.network.ports == usual.network.ports) continue;
    if (std::find(node.gpus.begin(), node.gpus.end(), gpu.id) != node.gpus.end()) return node;
  }
  return std::nullopt;
}

}  // namespace

NodeType node_of(const Catalog& catalog, const Gpu& gpu, std::string_view name) {
  if (name.empty()) return catalog.node_type(gpu.node);
  std::optional<NodeType> node;
  try {
    node = catalog.node_type(name);
  } catch (const InputError& unknown) {
    const auto network = find_network(catalog, name);
    if (!network) {
      const std::string message = unknown.what();
      const bool hinted = message.find("did you mean") != std::string::npos;
      throw InputError(message + (hinted ? "" : did_you_mean(name, catalog.fabric_ids())));
    }
    const NodeType usual = catalog.node_type(gpu.node);
    if (!network->ports && usual.network.fabric != network->fabric.id) {
      if (const auto sold = sold_with(catalog, gpu, usual, network->fabric)) return *sold;
    }
    return with_network(usual, *network);
  }
  const auto has = [](const std::vector<std::string>& ids, const std::string& id) {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
  };
  const bool own = !has(catalog.gpu_ids(), gpu.id) || !has(catalog.node_type_ids(), node->id);
  if (own || node->id == gpu.node || node->gpus.empty() || has(node->gpus, gpu.id)) return *node;
  std::vector<std::string> nodes;
  for (const std::string& id : catalog.node_type_ids())
    if (id == gpu.node || has(catalog.node_type(id).gpus, gpu.id)) nodes.push_back(id);
  throw InputError(fmt::format("node {} is built with {}, not with {}, which is in {}", node->id,
                               fmt::join(node->gpus, ", "), gpu.id, fmt::join(nodes, ", ")));
}

Gpu gpu_of(const Catalog& catalog, std::string_view name, std::string_view node) {
  if (!name.empty()) return catalog.gpu(name);
  if (const auto network = find_network(catalog, node))
    throw InputError(
        fmt::format("{} connects nodes: name the GPUs, too (--gpu)", network->fabric.id));
  const NodeType type = catalog.node_type(node);
  if (type.gpus.empty())
    throw InputError(fmt::format("node {} has no usual GPU: name one (--gpu)", type.id));
  return catalog.gpu(type.gpus[0]);
}

Cluster::Cluster(const Catalog& catalog, Gpu gpu, int gpus, std::string_view node_type)
    : Cluster(catalog, gpu, gpus, node_of(catalog, gpu, node_type)) {}

Cluster::Cluster(const Catalog& catalog, Gpu gpu, int gpus, NodeType node_type)
    : gpu_(std::move(gpu)), gpus_(gpus), node_type_(std::move(node_type)) {
  if (gpus < 1) throw InputError(fmt::format("a cluster needs at least one GPU, got {}", gpus));
  const NodeType& n = node_type_;
  if (!n.scale_up.empty()) scale_up_ = catalog.fabric(n.scale_up);
  if (!n.bridge.fabric.empty()) bridge_ = catalog.fabric(n.bridge.fabric);
  if (!n.network.fabric.empty()) network_ = catalog.fabric(n.network.fabric);
  if (nodes() > 1 && !network_) {
    throw Infeasible(fmt::format("{} {} need {} nodes of type '{}', which has no network", gpus,
                                 gpu_.id, nodes(), n.id));
  }
}

int Cluster::nodes() const { return quotient_up(gpus_, node_type_.gpu_count); }

int Cluster::hosts() const {
  const int per_host =
      node_type_.gpus_per_host > 0 ? node_type_.gpus_per_host : node_type_.gpu_count;
  return quotient_up(gpus_, per_host);
}

BytesPerSecond Cluster::network_per_gpu() const {
  if (!network_) return BytesPerSecond(0);
  return network_->bandwidth() * node_type_.network.ports / node_type_.gpu_count;
}

bool Cluster::holds(int domain, int span) const {
  return gpus_ <= domain || (span <= domain && domain % span == 0);
}

GroupLink Cluster::link(int ranks, int stride) const {
  if (ranks < 2 || stride < 1 || stride > gpus_ / ranks) {
    throw InputError(fmt::format("a group of {} ranks {} apart does not lie within {} GPUs", ranks,
                                 stride, gpus_));
  }
  const int span = ranks * stride;
  if (bridge_ && holds(node_type_.bridge.gpus, span)) {
    return {&*bridge_, reached(gpu_, *bridge_, ranks), ranks, 1, 1, stride};
  }
  if (holds(node_type_.gpu_count, span)) {
    const bool pairs = bridge_ && stride == 1 && ranks % node_type_.bridge.gpus == 0;
    return {&*scale_up_, reached(gpu_, *scale_up_, ranks),   ranks,
            1,           pairs ? node_type_.bridge.gpus : 1, stride};
  }
  const int per_node = std::clamp(node_type_.gpu_count / stride, 1, ranks);
  return {&*network_, network_per_gpu(), per_node, quotient_up(ranks, per_node), 1, stride};
}

}  // namespace orrery
