#include "orrery/flow/topology/topology_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>

#include "orrery/base/error.h"
#include "orrery/base/fields.h"

namespace orrery {
namespace {

constexpr double kLeastBandwidth = 1, kMostBandwidth = 1e16;  // B/s
constexpr double kMostLatency = 10;                           // s

void bandwidth(Field& f) { f.range(kLeastBandwidth, kMostBandwidth); }
void latency(Field& f) { f.range(0, kMostLatency); }

// Declares a list of maps, each of which `read` reads.
void add_list(Fields& f, const std::string& name, const std::function<void(const Node&)>& read,
              const std::string& doc) {
  f.custom(
      name, Field::Type::kList,
      [read](const Node& list) {
        if (!list.is_list() || list.items().empty()) list.fail("expected a list of maps");
        for (const Node& item : list.items()) read(item);
      },
      [] { return nlohmann::ordered_json::array(); }, doc);
}

NodePlan read_node_plan(const Node& map, const Catalog& catalog) {
  if (!map.is_map()) map.fail("expected a map such as {type: hgx-h100, count: 4}");
  NodePlan n;
  if (const Node* type = map.find("type")) {
    try {
      n = plan_of(catalog, catalog.node_type(type->as_string()));
    } catch (const InputError& e) {
      type->fail(e.what());
    }
  } else if (map.find("gpus") == nullptr) {
    map.fail("a node needs 'type' or 'gpus'");
  }
  std::string type;
  Fields f;
  f.add("type", type, "node of the catalog; other keys override it");
  f.add("count", n.count, "such nodes in a row").range(1, kMostGpus);
  f.add("gpus", n.gpus, "GPUs of one node").range(1, kMostGpus);
  f.add_enum("inside", n.inside, {"switch", "mesh", "cube-mesh", "bus", "torus"},
             "what joins its GPUs");
  bandwidth(f.add("bandwidth", n.bandwidth, "of one GPU, each way, all its links together"));
  latency(f.add("latency", n.latency, "from GPU to GPU"));
  f.add("torus", n.torus, "sizes of the dimensions");
  f.add("cube_links", n.cube_links, "cube-mesh: NVLinks of a GPU, 4 or 6").range(4, 6);
  f.add("gpus_per_switch", n.gpus_per_switch, "bus: GPUs on one PCI Express switch").range(1, 1024);
  f.add("peer_to_peer", n.peer_to_peer, "bus: false: through host memory");
  f.add("bridged", n.bridged, "neighbours with links of their own; 0: none").range(0, 1024);
  bandwidth(f.add("bridge_bandwidth", n.bridge_bandwidth, "of one GPU over its bridge, each way"));
  latency(f.add("bridge_latency", n.bridge_latency, "over a bridge"));
  f.add("ports", n.ports, "to the network, of the whole node").range(0, kMostGpus);
  bandwidth(f.add("port_bandwidth", n.port_bandwidth, "of one port, each way"));
  latency(f.add("port_latency", n.port_latency, "from port to port through one switch"));
  f.read(map);
  return n;
}

void declare_network(Fields& f, NetworkPlan& w, std::vector<std::int64_t>& children,
                     std::vector<double>& oversubscription) {
  f.add_enum("kind", w.kind, {"none", "switch", "fat-tree", "dragonfly"}, "what joins the nodes");
  f.add("rails", w.rails, "each port of a node has a network of its own");
  f.add("children", children, "fat tree: nodes of a leaf, leaves of a switch above, ...");
  f.add("oversubscription", oversubscription,
        "fat tree: bandwidth below over above, of each level");
  f.add("spines", w.spines, "fat tree: switches of the top level").range(1, 1024);
  latency(f.add("hop_latency", w.hop_latency, "each further switch on the path"));
  f.add("nodes_per_router", w.nodes_per_router, "dragonfly").range(1, kMostGpus);
  f.add("routers_per_group", w.routers_per_group, "dragonfly").range(1, kMostGpus);
  bandwidth(f.add("local_bandwidth", w.local_bandwidth, "dragonfly: of a link within a group"));
  bandwidth(f.add("global_bandwidth", w.global_bandwidth, "dragonfly: of a link between groups"));
}

TopologyFile astra_sim_file(const Node& document, std::string name) {
  std::vector<std::string> kinds;
  std::vector<std::int64_t> sizes;
  std::vector<double> bandwidths, latencies;
  Fields f;
  f.add("topology", kinds, "Ring, FullyConnected or Switch, for each dimension").required();
  f.add("npus_count", sizes, "NPUs along each dimension").required();
  f.add("bandwidth", bandwidths, "GB/s of a link").required();
  f.add("latency", latencies, "ns of a link").required();
  f.read(document);
  if (kinds.size() != sizes.size() || kinds.size() != bandwidths.size() ||
      kinds.size() != latencies.size()) {
    document.fail("topology, npus_count, bandwidth and latency need one value a dimension");
  }
  std::vector<AstraSimDimension> dimensions;
  std::vector<DimensionPlan> plans;
  static const std::vector<std::string> known = {"Ring", "FullyConnected", "Switch"};
  constexpr Wiring kWirings[] = {Wiring::kRing, Wiring::kMesh, Wiring::kSwitch};
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const auto it = std::find(known.begin(), known.end(), kinds[i]);
    if (it == known.end()) {
      document.at("topology")
          .fail(fmt::format("unknown topology '{}'{}", kinds[i], did_you_mean(kinds[i], known)));
    }
    const Wiring wiring = kWirings[it - known.begin()];
    if (sizes[i] < 1 || sizes[i] > kMostGpus) {
      document.at("npus_count").fail(fmt::format("expected 1 to {} NPUs", kMostGpus));
    }
    if (!(bandwidths[i] * 1e9 >= kLeastBandwidth) || bandwidths[i] * 1e9 > kMostBandwidth) {
      document.at("bandwidth").fail("expected a bandwidth in GB/s above zero");
    }
    if (!(latencies[i] >= 0) || latencies[i] > kMostLatency * 1e9) {
      document.at("latency").fail("expected a latency in ns");
    }
    const int size = static_cast<int>(sizes[i]);
    dimensions.push_back({wiring, size, bandwidths[i], latencies[i]});
    const double hops = wiring == Wiring::kSwitch ? 2 : 1;
    plans.push_back(
        {wiring, size, BytesPerSecond(bandwidths[i] * 1e9), Seconds(hops * latencies[i] * 1e-9)});
  }
  const int inner = kinds.size() > 1 ? plans.front().size : 1;
  return {dimensions_topology(plans, std::move(name)), inner, std::move(dimensions)};
}

Topology links_topology(const Node& document, std::string name, int gpus,
                        const std::vector<Node>& items) {
  std::map<std::string, VertexId, std::less<>> switches;
  std::vector<std::string> names;
  std::vector<Link> links;
  const auto vertex = [&](const Node& node, const std::string& text) {
    if (text.empty()) node.fail("'from' and 'to' name a GPU (gpu0) or a switch");
    if (text.starts_with("gpu")) {
      int number = -1;
      const char* end = text.data() + text.size();
      const auto [stop, error] = std::from_chars(text.data() + 3, end, number);
      if (error == std::errc() && stop == end) {
        if (number < 0 || number >= gpus)
          node.fail(fmt::format("there is no {} of {}", text, gpus));
        return number;
      }
    }
    if (text.find("->") != text.npos) node.fail("a switch's name must not hold '->'");
    const auto [it, fresh] = switches.try_emplace(text, gpus + static_cast<int>(names.size()));
    if (fresh) names.push_back(text);
    return it->second;
  };
  for (const Node& item : items) {
    std::string from, to;
    Link l;
    bool both_ways = true;
    Fields f;
    f.add("from", from, "gpu0, gpu1, ..., or a switch's name").required();
    f.add("to", to, "the same").required();
    bandwidth(f.add("bandwidth", l.bandwidth, "each way").required());
    latency(f.add("latency", l.latency, "of the link"));
    f.add("both_ways", both_ways, "false: from -> to only");
    f.read(item);
    l.from = vertex(item, from);
    l.to = vertex(item, to);
    if (l.from == l.to) item.fail("a link joins two different ends");
    links.push_back(l);
    if (both_ways) links.push_back({l.to, l.from, l.bandwidth, l.latency});
  }
  try {
    return Topology(std::move(name), gpus, std::move(names), std::move(links));
  } catch (const InputError& e) {
    document.fail(e.what());
  }
}

// The content of a file in one of the three forms.
struct TopologyPlan {
  std::string name;
  ClusterPlan cluster;
  std::vector<DimensionPlan> dimensions;
  std::vector<Node> links;
  std::vector<std::int64_t> children{32};
  std::vector<double> oversubscription{1};
  std::map<std::string, double> degrade;
  int gpus = 0;
};

DimensionPlan read_dimension(const Node& n) {
  DimensionPlan d;
  Fields g;
  g.add_enum("kind", d.wiring, {"ring", "line", "mesh", "switch"},
             "how the GPUs along it are joined")
      .required();
  g.add("size", d.size, "GPUs along it").range(1, kMostGpus).required();
  bandwidth(g.add("bandwidth", d.bandwidth, "of one link, each way").required());
  latency(g.add("latency", d.latency, "from one GPU to the next"));
  g.read(n);
  return d;
}

void declare(Fields& f, TopologyPlan& plan, const Catalog& catalog) {
  f.add("name", plan.name, "what it is");
  add_list(
      f, "nodes", [&](const Node& n) { plan.cluster.nodes.push_back(read_node_plan(n, catalog)); },
      "kinds of nodes, in ranks' order");
  f.group(
      "network",
      [&](Fields& w) {
        declare_network(w, plan.cluster.network, plan.children, plan.oversubscription);
      },
      "what joins the nodes");
  add_list(
      f, "dimensions", [&](const Node& n) { plan.dimensions.push_back(read_dimension(n)); },
      "a product of dimensions, the fastest running first");
  f.add("gpus", plan.gpus, "with links: GPUs").range(1, kMostGpus);
  add_list(f, "links", [&](const Node& n) { plan.links.push_back(n); }, "cables, one by one");
  f.custom(
      "degrade", Field::Type::kGroup,
      [&](const Node& map) {
        if (!map.is_map()) map.fail("expected a map of links and factors: {gpu0-leaf0: 0.5}");
        for (std::size_t i = 0; i < map.keys().size(); ++i)
          plan.degrade[map.keys()[i]] = map.items()[i].as_double();
      },
      [] { return nlohmann::ordered_json::object(); }, "links with less bandwidth; 0: failed");
}

// InputError: the file has not exactly one of the three forms.
void check(const TopologyPlan& plan, const Node& document) {
  const auto hidden = [](unsigned char c) { return c < 0x20 || c == 0x7F; };
  const Node* named = document.find("name");
  if (named != nullptr && std::any_of(plan.name.begin(), plan.name.end(), hidden))
    named->fail("a name has visible characters only");
  const int forms = (plan.cluster.nodes.empty() ? 0 : 1) + (plan.dimensions.empty() ? 0 : 1) +
                    (plan.links.empty() ? 0 : 1);
  if (forms != 1) document.fail("expected one of 'nodes', 'dimensions' and 'links'");
  if ((plan.gpus > 0) != !plan.links.empty()) document.fail("'gpus' and 'links' belong together");
  if (plan.cluster.nodes.empty() && document.find("network") != nullptr)
    document.at("network").fail("belongs to 'nodes'");
}

TopologyFile nodes_file(TopologyPlan plan, const Node& document) {
  ClusterPlan& cluster = plan.cluster;
  cluster.name = plan.name;
  cluster.network.tiers.clear();
  if (plan.oversubscription.size() > plan.children.size())
    document.at("network").fail("more levels of oversubscription than of children");
  for (std::size_t i = 0; i < plan.children.size(); ++i) {
    if (plan.children[i] < 1 || plan.children[i] > kMostGpus)
      document.at("network").fail(fmt::format("children must be 1 to {}", kMostGpus));
    cluster.network.tiers.push_back(
        {static_cast<int>(plan.children[i]),
         i < plan.oversubscription.size() ? plan.oversubscription[i] : 1.0});
  }
  int inner = cluster.nodes.front().gpus;
  for (const NodePlan& n : cluster.nodes) inner = std::min(inner, n.gpus);
  return {cluster_topology(cluster), inner, {}};
}

TopologyFile file_of(const TopologyPlan& plan, const Node& document) {
  if (!plan.links.empty())
    return {links_topology(document, plan.name, plan.gpus, plan.links), 1, {}};
  if (plan.dimensions.empty()) return nodes_file(plan, document);
  const int inner = plan.dimensions.size() > 1 ? plan.dimensions.front().size : 1;
  return {dimensions_topology(plan.dimensions, plan.name), inner, {}};
}

}  // namespace

TopologyFile read_topology(const Node& document, const Catalog& catalog) {
  if (!document.is_map()) document.fail("expected a map with 'nodes', 'dimensions' or 'links'");
  TopologyPlan plan;
  plan.name = document.file();
  if (document.find("npus_count") != nullptr) return astra_sim_file(document, plan.name);
  const Node* degraded = document.find("degrade");
  Fields f;
  declare(f, plan, catalog);
  f.read(document);
  check(plan, document);
  try {
    TopologyFile file = file_of(plan, document);
    for (const auto& [link, factor] : plan.degrade) {
      try {
        file.topology.degrade(link, factor);
      } catch (const InputError& e) {
        degraded->fail(e.what());
      }
    }
    return file;
  } catch (const InputError& e) {
    // Errors of the plan as a whole have no place in the file yet.
    const std::string_view what = e.what();
    if (document.file().empty() || what.find(document.file()) != what.npos) throw;
    document.fail(what);
  }
}

}  // namespace orrery
