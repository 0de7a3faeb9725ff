#include "orrery/scenario/kinds/collective/flow_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <map>

#include "orrery/base/index.h"
#include "orrery/flow/chakra/astra_sim.h"
#include "orrery/flow/chakra/chakra_groups.h"
#include "orrery/flow/chakra/chakra_replay.h"
#include "orrery/flow/collectives/flow_collectives.h"
#include "orrery/flow/simulation/flow_simulation.h"
#include "orrery/flow/topology/topology_file.h"
#include "orrery/network/algorithms/cost.h"
#include "orrery/network/collectives/make_network.h"
#include "orrery/scenario/kinds/collective/collective_question.h"
#include "orrery/scenario/kinds/collective/node_runs.h"

namespace orrery {
namespace {

using CollectiveKind = Collective::Kind;

constexpr double kFlowUs = 1e-6;
// Line rates are nominal. The share that libraries reach differs between stacks (network_model.cc
// has the same figures for fabrics without measurements).
constexpr double kShared = 0.20, kOwn = 0.25;
// Rings of a node's GPUs, one through each port; more channels than this change nothing.
constexpr int kMostChannels = 32;
constexpr std::string_view kAstraSimNote =
    "astra-sim: its congestion-aware backend; GB/s of 2^30 bytes, sizes are the input of one rank";
// Without a given algorithm, direct exchanges of more ranks are not tried.
constexpr int kMostDirect = 256;

// The simulated network and the shape of its groups.
struct Network {
  Topology topology;
  int inner = 1;
  std::vector<AstraSimDimension> astra_sim;
};

int least_gpus(const ClusterPlan& plan) {
  int least = plan.nodes.front().gpus;
  for (const NodePlan& n : plan.nodes) least = std::min(least, n.gpus);
  return least;
}

Network network_of(const FlowQuestion& q, const FlowContext& context, const Catalog& catalog,
                   int gpus) {
  const auto build = [&]() -> Network {
    if (!q.topology.empty()) {
      TopologyFile file = read_topology(read_document(q.topology), catalog);
      return {std::move(file.topology), file.inner, std::move(file.astra_sim)};
    }
    if (!context.nodes.empty()) {
      const ClusterPlan plan = plan_of(node_runs(context.nodes, catalog), catalog);
      return {cluster_topology(plan), least_gpus(plan), {}};
    }
    const Gpu gpu = gpu_of(catalog, context.gpu, context.node);
    const ClusterPlan plan = plan_of(Cluster(catalog, gpu, gpus, context.node));
    return {cluster_topology(plan), plan.nodes[0].gpus, {}};
  };
  Network n = build();
  if (q.efficiency < 1) n.topology.scale(q.efficiency);
  for (const std::string& link : q.fail) n.topology.degrade(link, 0);
  for (const std::string& text : q.degrade) {
    const std::size_t equals = text.rfind('=');
    double factor = -1;
    if (equals != text.npos) {
      const char* end = text.data() + text.size();
      const auto [stop, error] = std::from_chars(text.data() + equals + 1, end, factor);
      if (error != std::errc() || stop != end) factor = -1;
    }
    if (!(factor >= 0 && factor <= 1)) {
      throw InputError(
          fmt::format("degrade '{}': expected LINK=FACTOR with a factor from 0 to 1, "
                      "such as gpu3-rail3.leaf0=0.5",
                      text));
    }
    n.topology.degrade(text.substr(0, equals), factor);
  }
  return n;
}

FlowOptions options_of(const FlowQuestion& q) {
  FlowOptions o;
  o.message_overhead = q.overhead;
  return o;
}

// The algorithms that are tried if the question names none.
std::vector<CollectiveAlgorithm> candidates(CollectiveKind kind, int ranks, int inner) {
  using A = CollectiveAlgorithm;
  std::vector<A> all;
  const bool reduces = kind == CollectiveKind::kAllReduce || kind == CollectiveKind::kAllGather ||
                       kind == CollectiveKind::kReduceScatter;
  const bool rooted = kind == CollectiveKind::kBroadcast || kind == CollectiveKind::kReduce;
  if (reduces || rooted) all.push_back(A::kRing);
  if (kind == CollectiveKind::kAllReduce || rooted) all.push_back(A::kTree);
  if (reduces && std::has_single_bit(static_cast<unsigned>(ranks)))
    all.push_back(A::kHalvingDoubling);
  if (reduces && inner > 1 && ranks > inner && ranks % inner == 0) all.push_back(A::kHierarchical);
  if (!reduces && !rooted) all.push_back(A::kDirect);
  if (reduces && ranks <= kMostDirect) all.push_back(A::kDirect);
  return all;
}

FlowCollective collective_of(CollectiveKind kind, CollectiveAlgorithm algorithm, Bytes bytes,
                             int ranks, int stride, int inner) {
  FlowCollective c;
  c.kind = kind;
  c.algorithm = algorithm;
  c.bytes = bytes;
  // Members of a group in one node are neighbours in the order of the group.
  const int together = stride < inner ? inner / stride : 1;
  if (together > 1 && ranks > together && ranks % together == 0) {
    c.inner = together;
    const bool divided =
        algorithm == CollectiveAlgorithm::kRing ||
        (algorithm == CollectiveAlgorithm::kTree && kind == CollectiveKind::kAllReduce);
    c.channels = divided ? std::min(together, kMostChannels) : 1;
  }
  return c;
}

void add_notes(Point& p, const Network& n, const FlowResult& r, const FlowQuestion& q) {
  p.at["limit"] = !r.busiest.empty() && r.busiest[0].busy > 0.5 ? "bandwidth" : "latency";
  p.notes.push_back(
      fmt::format("flow level on {}: {}; {} streams in {} classes, {} events", n.topology.name(),
                  q.efficiency < 1 ? fmt::format("{:g} of the line rate", q.efficiency)
                                   : std::string("links at their line rate"),
                  r.streams, r.classes, r.events));
  if (!r.busiest.empty() && r.makespan > Seconds(0)) {
    const auto& l = r.busiest[0];
    p.notes.push_back(
        fmt::format("busiest: {}{}, {:.0f} % of the time", n.topology.link_name(l.link),
                    l.alike > 1 ? fmt::format(" and {} more", l.alike - 1) : "", 100 * l.busy));
  }
}

Point collective_point(const FlowContext& context, std::int64_t ranks, std::int64_t bytes,
                       const std::string& by, Seconds time, Bytes moved) {
  Point p;
  p.at = {
      {"collective", to_text(context.kind)}, {"gpus", ranks}, {"bytes", bytes}, {"algorithm", by}};
  const Estimate<Seconds> t{time, kShared, kOwn, Origin::kAnalytical};
  p.metrics.push_back(metric("time", t));
  if (time > Seconds(0)) {
    const double gb = moved.value() / 1e9;
    p.metrics.push_back(rate_metric("algbw", gb, t));
    p.metrics.push_back(
        rate_metric("busbw", gb * bus_factor(context.kind, static_cast<int>(ranks)), t));
  }
  return p;
}

// The network of a group of `gpus` GPUs, kept for the points that follow.
struct FlowNetworkKey {
  std::string topology, gpu, node;
  std::vector<std::string> nodes, fail, degrade;
  double efficiency;
  int gpus;
  bool operator==(const FlowNetworkKey&) const = default;
};

std::shared_ptr<const Network> shared_network(Facts& facts, const FlowQuestion& q,
                                              const FlowContext& context, int gpus) {
  return facts.latest<Network>(FlowNetworkKey{.topology = q.topology,
                                              .gpu = context.gpu,
                                              .node = context.node,
                                              .nodes = context.nodes,
                                              .fail = q.fail,
                                              .degrade = q.degrade,
                                              .efficiency = q.efficiency,
                                              .gpus = gpus},
                               [&] { return network_of(q, context, facts.catalog(), gpus); });
}

bool has_own_size(const FlowQuestion& q, const FlowContext& context) {
  return !q.topology.empty() || !context.nodes.empty();
}

struct FlowRun {
  FlowResult result;
  CollectiveAlgorithm algorithm{};
};

// The fastest of the algorithms, or the one that the question names.
FlowRun fastest(const FlowQuestion& q, const FlowContext& context, const Network& network, int n,
                Bytes bytes, const std::vector<std::vector<int>>& members) {
  std::vector<CollectiveAlgorithm> algorithms =
      candidates(context.kind, n, network.inner / context.stride);
  if (!q.flow_algorithm.empty()) algorithms = {parse_flow_algorithm(q.flow_algorithm)};
  std::optional<FlowRun> best;
  for (const CollectiveAlgorithm a : algorithms) {
    FlowProgram program;
    FlowCollectives builder(program);
    builder.add(collective_of(context.kind, a, bytes, n, context.stride, network.inner),
                builder.groups(members));
    FlowResult r = simulate_flows(network.topology, program, options_of(q));
    if (!best || r.makespan < best->result.makespan) best = FlowRun{std::move(r), a};
  }
  return *std::move(best);
}

Point astra_sim_point(const FlowQuestion& q, const FlowContext& context, const Network& network,
                      std::int64_t ranks, Bytes bytes) {
  if (network.astra_sim.size() != 1) {
    throw InputError(
        "as astra-sim: needs its own network file (topology, npus_count, "
        "bandwidth, latency) with one dimension");
  }
  const AstraSimDimension& d = network.astra_sim[0];
  const CollectiveAlgorithm theirs = !q.flow_algorithm.empty()
                                         ? parse_flow_algorithm(q.flow_algorithm)
                                     : d.wiring == Wiring::kMesh ? CollectiveAlgorithm::kDirect
                                                                 : CollectiveAlgorithm::kRing;
  const Seconds t =
      astra_sim_time(context.kind, theirs, d, Bytes(static_cast<double>(context.bytes)));
  Point p = collective_point(context, ranks, context.bytes,
                             fmt::format("astra-sim {}", to_text(theirs)), t, bytes);
  for (Metric& m : p.metrics) m = exact(std::move(m), m.value);
  p.notes.emplace_back(kAstraSimNote);
  return p;
}

std::vector<Point> flow_points(Facts& facts, const FlowQuestion& q, const FlowContext& context) {
  std::shared_ptr<const Network> network;
  std::int64_t ranks = context.gpus;
  const bool given = has_own_size(q, context);
  if (given) {
    network = shared_network(facts, q, context, 0);
    if (context.all_gpus) ranks = network->topology.gpus();
  }
  const int n = static_cast<int>(ranks);
  if (context.stride > kMostGpus / n) throw InputError(fmt::format("more than {} GPUs", kMostGpus));
  if (!given) network = shared_network(facts, q, context, n * context.stride);
  // A cluster has whole nodes, of which the group's GPUs alone are used.
  const int used = given ? network->topology.gpus() : n * context.stride;
  const auto members = strided_groups(n, context.stride, used);
  // ASTRA-sim counts an all-gather's input.
  const bool inputs = q.as == "astra-sim" && context.kind == CollectiveKind::kAllGather;
  const Bytes bytes(static_cast<double>(context.bytes) * (inputs ? n : 1));
  const FlowRun best = fastest(q, context, *network, n, bytes, members);
  Point p = collective_point(context, ranks, context.bytes, std::string(to_text(best.algorithm)),
                             best.result.makespan, bytes);
  add_notes(p, *network, best.result, q);
  std::vector<Point> points;
  if (q.as == "astra-sim") points.push_back(astra_sim_point(q, context, *network, ranks, bytes));
  points.push_back(std::move(p));
  return points;
}

// Times of the collectives of a trace at analytical fidelity, a model for each shape of group. What
// the trace's caller adds to a collective is added if the library is that of the trace.
std::function<Seconds(const Collective&, int)> analytical_times(const FlowContext& context,
                                                                const ChakraTrace& trace, int gpus,
                                                                const Catalog& catalog,
                                                                const Bundle& bundle) {
  const std::string library = library_of(context.stack, trace.library);
  const Seconds latency = library == trace.library ? trace.collective_latency : Seconds(0);
  using Models = std::map<std::pair<int, int>, std::unique_ptr<NetworkModel>>;
  const Gpu gpu = gpu_of(catalog, context.gpu, context.node);
  const auto cluster = std::make_shared<Cluster>(catalog, gpu, gpus, context.node);
  const auto models = std::make_shared<Models>();
  return [=, &bundle](const Collective& asked, int stride) {
    Collective c = asked;
    c.group = Collective::Group::kData;
    auto& model = (*models)[{c.ranks, stride}];
    if (!model) {
      const ParallelPlan plan{.tp = stride, .pp = 1, .dp = c.ranks, .ep = 1};
      model = make_network_model(*cluster, plan, library, bundle);
    }
    return model->predict(c).time.value + latency * std::log2(std::max(c.ranks, 1));
  };
}

// Sum of what a GPU computes, the longest one.
Seconds longest_computing(const FlowProgram& program, const std::vector<std::string>& talking,
                          int gpus) {
  std::vector<Seconds> sum(static_cast<std::size_t>(gpus));
  for (const FlowOp& op : program.ops) {
    if (op.pattern >= 0 || std::binary_search(talking.begin(), talking.end(), op.name)) continue;
    if (op.gpus.empty()) {
      for (Seconds& s : sum) s += op.time;
    }
    for (int g : op.gpus) sum[index(g)] += op.time;
  }
  return *std::max_element(sum.begin(), sum.end());
}

Point replay(const FlowQuestion& q, const FlowContext& context, const Catalog& catalog,
             const Bundle& bundle) {
  const std::vector<ChakraTrace> traces = read_chakra(q.chakra);
  std::optional<Network> given;
  if (!q.topology.empty() || !context.nodes.empty()) given = network_of(q, context, catalog, 0);
  const int gpus = given              ? given->topology.gpus()
                   : context.all_gpus ? static_cast<int>(traces.size())
                                      : static_cast<int>(context.gpus);
  const Network network = given ? *given : network_of(q, context, catalog, gpus);
  ChakraReplay how;
  how.gpus = gpus;
  how.inner = network.inner;
  how.channels = std::min(network.inner, kMostChannels);
  if (!network.astra_sim.empty()) {
    for (const AstraSimDimension& d : network.astra_sim) how.dimensions.push_back(d.npus);
  } else if (network.inner > 1 && gpus % network.inner == 0) {
    how.dimensions = {network.inner, gpus / network.inner};
  } else {
    how.dimensions = {gpus};
  }
  if (!q.flow_algorithm.empty()) how.algorithm = parse_flow_algorithm(q.flow_algorithm);
  if (!q.chakra_groups.empty()) {
    how.groups = read_communicator_groups(read_document(q.chakra_groups));
  }
  const bool hardware = !context.gpu.empty() || !context.node.empty();
  if (hardware) {
    const Gpu gpu = gpu_of(catalog, context.gpu, context.node);
    how.peak = gpu.peak(gpu.compute_dtype(Dtype::kBf16));
    how.memory_bandwidth = gpu.memory.bandwidth;
  }
  const bool analytical = q.fidelity == "analytical";
  if (analytical) {
    if (given || !q.fail.empty() || !q.degrade.empty()) {
      throw InputError(
          "a trace at analytical fidelity runs on a cluster of the catalog; topology files, "
          "different "
          "nodes and damage need --fidelity flow");
    }
    how.collective_time = analytical_times(context, traces.front(), gpus, catalog, bundle);
  }
  const FlowProgram program = chakra_program(traces, how);
  const FlowResult r = simulate_flows(network.topology, program, options_of(q));
  std::vector<std::string> talking;
  for (const ChakraTrace& t : traces) {
    for (const ChakraNode& n : t.nodes) {
      if (n.type == ChakraNode::Type::kCollective) talking.push_back(n.name);
    }
  }
  std::sort(talking.begin(), talking.end());
  Point p;
  p.at = {{"trace", q.chakra}, {"gpus", gpus}, {"fidelity", analytical ? "analytical" : "flow"}};
  const Seconds computing = longest_computing(program, talking, gpus);
  const Estimate<Seconds> t{r.makespan, kShared, kOwn, Origin::kAnalytical};
  p.metrics.push_back(metric("time", t));
  p.metrics.push_back(exact_metric("computing", computing.value() / kFlowUs));
  p.metrics.push_back(
      exact_metric("exposed", std::max(0.0, (r.makespan - computing).value()) / kFlowUs));
  p.notes.push_back(fmt::format(
      "{} trace{} on {} GPUs{}; computing is the longest sum of one GPU, exposed the rest",
      traces.size(), traces.size() == 1 ? "" : "s", gpus,
      static_cast<int>(traces.size()) < gpus ? ", every GPU the same" : ""));
  if (const std::string& library = traces.front().library; analytical && !library.empty()) {
    p.notes.push_back(context.stack.empty()
                          ? fmt::format("collectives of {}, which the trace names", library)
                          : fmt::format("collectives of {}, although the trace names {}",
                                        context.stack, library));
  }
  add_notes(p, network, r, q);
  return p;
}

}  // namespace

std::vector<Point> answer_flow(Facts& facts, const FlowQuestion& q, const FlowContext& context) {
  if (!q.chakra.empty()) {
    if (q.as != "orrery") throw InputError("as astra-sim: single collectives only, no traces");
    return {replay(q, context, facts.catalog(), facts.bundle())};
  }
  if (q.fidelity == "analytical") {
    throw InputError(
        "fidelity analytical: topology, fail, degrade, flow_algorithm and as belong to "
        "the flow level");
  }
  return flow_points(facts, q, context);
}

}  // namespace orrery
