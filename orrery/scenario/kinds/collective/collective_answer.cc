#include "orrery/scenario/kinds/collective/collective_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "orrery/base/error.h"
#include "orrery/kernel/tiers/clocked_kernels.h"
#include "orrery/network/algorithms/host_launches.h"
#include "orrery/network/algorithms/library_version.h"
#include "orrery/network/collectives/mixed_network.h"
#include "orrery/network/collectives/network_model.h"
#include "orrery/network/collectives/overlap.h"
#include "orrery/network/collectives/table_hosts.h"
#include "orrery/scenario/kinds/collective/collective_boards.h"
#include "orrery/scenario/kinds/collective/collective_bounds.h"
#include "orrery/scenario/kinds/collective/flow_answer.h"
#include "orrery/scenario/kinds/collective/link_energy_metrics.h"
#include "orrery/scenario/kinds/collective/node_runs.h"
#include "orrery/scenario/setup/gpu_price.h"

namespace orrery {
namespace {

constexpr double kUs = 1e-6;

Collective::Kind kind_of(const std::string& name) {
  const auto& names = collective_names();
  return static_cast<Collective::Kind>(std::find(names.begin(), names.end(), name) - names.begin());
}

struct AskedCollective {
  Facts& facts;
  const CollectiveQuestion& question;
  const std::vector<Cluster>& kinds;  // one, or one for each kind of nodes of a mixed group
  const NetworkModel& network;
  int ranks;
  const std::vector<int>& gpus;  // of each kind of a mixed group
  const ServingSetup::Hardware& hardware;
  const CallChoice& accounts;
  const Cluster& cluster() const { return kinds.front(); }
  GroupLink link() const { return cluster().link(ranks, question.stride); }

  // Where nodes differ, nothing is said of the energy of their links.
  void add_energy(const WireBytes& wires, Point& p) const {
    if (kinds.size() == 1) add_link_energy(facts, cluster(), link(), wires, p);
  }
};

// A call, and the bytes of the bus bandwidth.
struct TimedCollective {
  Estimate<Seconds> time;
  Bytes bytes, bus;
};

// The cost of a group of unlike nodes: each kind of GPU has a price of its own.
void add_cost_of_kinds(const AskedCollective& a, const Estimate<Seconds>& time, Point& p) {
  refuse_preemptions(a.accounts.cost);
  if (a.accounts.plant.asked()) {
    throw InputError(
        "energy: the power of a group of unlike nodes is not predicted; a collective of one kind "
        "of nodes has a plant");
  }
  EstimateSum<Usd> hour;
  for (std::size_t i = 0; i < a.kinds.size(); ++i) {
    const auto price = gpu_price(a.facts, a.accounts.cost, a.kinds[i].gpu(), p.notes);
    if (price->electricity) {
      throw InputError(
          "cost.tier owned: the power of a group of unlike nodes, which owned GPUs pay for, is "
          "not predicted");
    }
    hour.add(Family::kCollective, price->hour.scaled(real(a.gpus[i])));
  }
  add_call_cost(hour.total(), time, p);
}

// Adds the time and the bandwidths, and the power of the boards: at the clock that they keep.
void add_call(const AskedCollective& a, const TimedCollective& c, const CopyingCall& call,
              Point& p) {
  std::optional<CallOnBoards> boards;
  if (a.kinds.size() == 1) {
    boards = call_on_boards(a.facts, a.cluster().gpu(), a.hardware.knobs(), call);
  } else if (a.hardware.knobs().any()) {
    throw InputError(
        "hardware (--power-limit, --clock): the boards of a group of unlike nodes have unlike "
        "limits and clocks; a collective of one kind of nodes takes them");
  }
  Estimate<Seconds> time = c.time;
  if (boards) time = clocked(time, boards->longer);
  if (boards && boards->clock) time.shared = std::hypot(time.shared, boards->clock->error);
  p.metrics.push_back(metric("time", time));
  p.metrics.push_back(rate_metric("algbw", c.bytes.value() / 1e9, time));
  p.metrics.push_back(rate_metric("busbw", c.bus.value() / 1e9, time));
  if (boards) add_boards(*boards, a.cluster().gpu(), a.hardware.knobs(), a.ranks, time, p);
  if (!a.accounts.asked()) return;
  if (a.kinds.size() > 1) return add_cost_of_kinds(a, time, p);
  const Gpu& gpu = a.cluster().gpu();
  AccountedCall accounted{.gpu = gpu,
                          .node = a.hardware.node,
                          .gpus = real(a.ranks),
                          .time = time,
                          .power = {},
                          .limit = {}};
  if (boards) {
    accounted.power = boards->power;
    accounted.limit = a.hardware.power_limit.value_or(*gpu.power);
  }
  add_call_account(a.facts, a.accounts, accounted, p);
}

// The slowdown of computation that overlaps with the kernels of the collective, on the GPU with the
// largest slowdown.
template <class SmsOf>
void add_overlap(Point& p, const AskedCollective& a, SmsOf sms_of) {
  double most = 0;
  int held = 0;
  for (const Cluster& c : a.kinds) {
    const int sms = sms_of(c.gpu());
    if (sms <= 0 || c.gpu().compute_units <= 0) return;
    const double slowdown = compute_slowdown(sms, c.gpu().compute_units);
    if (slowdown > most) most = slowdown, held = sms;
  }
  p.metrics.push_back(exact_metric("sms", held));
  p.metrics.push_back(exact_metric("compute_slowdown", most));
}

// The ranks of a node, for algorithms in which nodes are units: hierarchies and exchanges of
// experts.
void check_equal_nodes(const AskedCollective& a, std::string_view what) {
  for (const Cluster& c : a.kinds) {
    if (c.node_type().gpu_count == a.cluster().node_type().gpu_count) continue;
    throw InputError(fmt::format("collective.nodes: {} needs nodes of as many GPUs each", what));
  }
}

std::optional<LibraryVersion> version_of(const CollectiveQuestion& q) {
  if (q.nccl_version.empty()) return std::nullopt;
  return asked_nccl_version(q.nccl_version);
}

ForcedChoice forced_by(const CollectiveQuestion& q) {
  return {parse_collective_algorithm(q.algorithm, AlgorithmModel::kTuner),
          parse_collective_protocol(q.protocol)};
}

HostLaunches launches_of(const AskedCollective& a) {
  const CollectiveQuestion& q = a.question;
  const int in_node = a.link().ranks_per_node;
  if (q.gpus_per_thread > in_node) {
    throw InputError(fmt::format(
        "collective.gpus_per_thread: a thread launches for the GPUs of its own node, of which the "
        "group has {}; {} is too many",
        in_node, q.gpus_per_thread));
  }
  HostLaunches launches{q.launch == "graph", static_cast<int>(q.gpus_per_thread), Seconds(0)};
  if (launches.graph && a.link().nodes == 1 && a.kinds.size() == 1)
    launches.in_tables = host_part(a.facts.bundle(), a.facts.catalog(), *a.link().fabric);
  return launches;
}

// A reduce-scatter and an all-gather of the node's share around an all-reduce between the nodes.
struct Hierarchy {
  Estimate<Seconds> time;
  WireBytes wires;
  std::string note;
};
Hierarchy hierarchical(const AskedCollective& a, Bytes bytes, const Bundle& bundle) {
  check_equal_nodes(a, kHierarchicalAllReduce);
  const GroupLink link = a.cluster().link(a.ranks, a.question.stride);
  if (a.question.kind != "all-reduce" || a.question.stride != 1)
    throw InputError("collective.algorithm: hierarchical supports only all-reduces of stride 1");
  if (link.nodes < 2 || link.ranks_per_node < 2 || link.ranks_per_node * link.nodes != a.ranks) {
    throw InputError(fmt::format(
        "collective.algorithm: hierarchical needs several whole nodes; {} GPUs are {} node{} of {}",
        a.ranks, link.nodes, link.nodes == 1 ? "" : "s", link.ranks_per_node));
  }
  const ParallelPlan plan{.tp = link.ranks_per_node, .pp = 1, .dp = link.nodes, .ep = 1};
  const auto network = make_mixed_network(a.kinds, plan, library_of(a.question.stack), bundle,
                                          version_of(a.question));
  using Kind = Collective::Kind;
  using Group = Collective::Group;
  EstimateSum<Seconds> sum;
  const HostLaunches launches = launches_of(a);
  std::string note = "in turn:";
  for (const Collective& c :
       {Collective{Kind::kReduceScatter, Group::kTensor, link.ranks_per_node, bytes},
        Collective{Kind::kAllReduce, Group::kData, link.nodes, bytes / link.ranks_per_node},
        Collective{Kind::kAllGather, Group::kTensor, link.ranks_per_node, bytes}}) {
    const CollectiveTime t = network->predict(c);
    const Estimate<Seconds> time = launched(t.time, launches);
    sum.add(Family::kCollective, time);
    note += fmt::format(" {} of {} by {} {};", to_text(c.kind), c.ranks, t.algorithm,
                        to_text(time.value));
  }
  note.pop_back();
  // Each node scatters and gathers by a ring, and the nodes reduce each share by one.
  const double share = link.ranks_per_node - 1.0, nodes = link.nodes;
  return {sum.total(), {bytes * (2 * share * nodes), bytes * (2 * (nodes - 1))}, note};
}

void add_collective(const AskedCollective& a, std::int64_t size, Point& p) {
  const CollectiveQuestion& q = a.question;
  const bool uneven = q.kind == "all-to-all";  // all-to-all(v): as slow as its heaviest rank
  if (!uneven && q.exchange.imbalance != 1) {
    throw InputError(
        "collective.imbalance: supported only for all-to-all, moe-dispatch and moe-combine");
  }
  const double heaviest = uneven ? q.exchange.imbalance : 1;
  const Collective c{kind_of(q.kind), Collective::Group::kData, a.ranks,
                     Bytes(heaviest * static_cast<double>(size))};
  p.at["bytes"] = size;
  const Bytes bytes(static_cast<double>(size));
  const Gpu& gpu = a.cluster().gpu();
  // Through the channels of the library's kernel pass the bytes of the bus bandwidth.
  const auto copying = [&](Seconds time, Seconds wires, Bytes bus, bool nvls_kernel) {
    const BytesPerSecond rate = library_rate(a.facts.bundle(), gpu, nvls_kernel);
    return CopyingCall{time, wires, rate > BytesPerSecond(0) ? bus / rate : Seconds(0),
                       library_sms(gpu, nvls_kernel)};
  };
  if (q.algorithm == kHierarchicalAllReduce) {
    const Hierarchy h = hierarchical(a, c.bytes, a.facts.bundle());
    p.at["algorithm"] = q.algorithm;
    p.at["protocol"] = "";
    const Bytes bus = c.bytes * (2 * (a.ranks - 1.0) / a.ranks);
    const Seconds bound = a.network.bound(c);
    add_call(a, {h.time, bytes, bus}, copying(h.time.value, bound, bus, false), p);
    p.metrics.push_back(exact_metric("bound", bound.value() / kUs));
    a.add_energy(h.wires, p);
    p.notes.push_back(h.note);
    p.notes.push_back(a.network.provenance(c));
    return;
  }
  const ForcedChoice forced = forced_by(q);
  const CollectiveTime t = a.network.predict(c, forced);
  const CollectiveChoice choice = a.network.choice(c, forced);
  const Estimate<Seconds> time = launched(t.time, launches_of(a));
  const bool by_host = time.value > t.time.value;
  p.at["algorithm"] = choice.algorithm;
  p.at["protocol"] = choice.protocol;
  p.at["limit"] = by_host ? "launches" : to_text(t.bound);
  const Bytes bus = t.bus_bandwidth * t.time.value;
  const Seconds bound = a.network.bound(c, forced);
  add_call(a, {time, bytes, bus * (1 / heaviest)},
           copying(time.value, bound, bus, choice.nvls_kernel), p);
  if (by_host) {
    p.notes.push_back(
        fmt::format("one thread launches the kernels of {} GPUs in {}; the kernels take {}",
                    q.gpus_per_thread, to_text(time.value), to_text(t.time.value)));
  }
  p.metrics.push_back(exact_metric("bound", bound.value() / kUs));
  add_overlap(p, a, [&](const Gpu& gpu) { return library_sms(gpu, choice.nvls_kernel); });
  // All ranks together send what they have, however uneven it is.
  const Collective even{c.kind, c.group, c.ranks, c.bytes * (1 / heaviest)};
  CollectiveTime mean = t;
  mean.port_time *= 1 / heaviest;
  a.add_energy(wire_bytes(even, a.link(), choice, mean), p);
  p.limit = choice.reason;
  // The provenance of a group is that of the library's own choice.
  p.notes.push_back(forced.any() && t.time.origin == Origin::kAnalytical
                        ? fmt::format("an estimate of {} on {} by the library's tuner, which no "
                                      "measurement supports",
                                      choice.algorithm, a.link().fabric->id)
                        : a.network.provenance(c));
}

void add_exchange(const AskedCollective& a, std::int64_t tokens, Point& p) {
  const CollectiveQuestion& q = a.question;
  ExpertExchange x = q.exchange;
  x.combine = q.kind == "moe-combine";
  x.low_latency = q.mode == "low-latency";
  x.tokens = tokens;
  check_equal_nodes(a, q.kind);
  const GroupLink link = a.cluster().link(a.ranks, q.stride);
  const CollectiveTime t = a.network.exchange(x, Collective::Group::kData, a.ranks);
  const ExpertBytes bytes = expert_bytes(x, link);
  p.at["tokens"] = tokens;
  p.at["algorithm"] = t.algorithm;
  p.at["limit"] = to_text(t.bound);
  const Seconds inside = link.nodes == 1 ? bytes.inside / link.bandwidth : Seconds(0);
  add_call(a, {t.time, bytes.counted, t.bus_bandwidth * t.time.value},
           {t.time.value, std::max(inside, t.port_time), Seconds(0), x.low_latency ? 0 : x.sms}, p);
  p.metrics.push_back(exact_metric("sent_inside", bytes.inside.value() / 1e6));
  p.metrics.push_back(exact_metric("sent_between", bytes.between.value() / 1e6));
  if (!x.low_latency) add_overlap(p, a, [&](const Gpu&) { return x.sms; });
  a.add_energy({bytes.inside * a.ranks, bytes.between * a.ranks}, p);
  p.notes.push_back(a.network.provenance(
      {Collective::Kind::kAllToAll, Collective::Group::kData, a.ranks, Bytes(1)}));
}

// The ports that a node of the named kind or network has. Nothing for a group within a node.
std::optional<std::string> note_of_ports(const AskedCollective& a) {
  const NodeType& node = a.cluster().node_type();
  if (a.kinds.size() > 1 || node.network.ports == 0) return std::nullopt;
  if (a.cluster().link(a.ranks, a.question.stride).nodes == 1) return std::nullopt;
  const int ports = node.network.ports, gpus = node.gpu_count;
  const std::string shared =
      ports < gpus && gpus % ports == 0   ? fmt::format(": {} GPUs share a port", gpus / ports)
      : ports > gpus && ports % gpus == 0 ? fmt::format(": {} for each GPU", ports / gpus)
      : ports == gpus                     ? ": one for each GPU"
                                          : "";
  return fmt::format("a node of {} GPUs has {} port{} of {}{}", gpus, ports, ports == 1 ? "" : "s",
                     node.network.fabric, shared);
}

// The values that the points of one group share.
struct CollectiveGroup {
  std::vector<Cluster> kinds;
  std::unique_ptr<NetworkModel> network;
  std::string gpus, nodes;  // "h100-sxm + a100-80g-sxm", "8 hgx-h100 + 4 hgx-a100"
  std::vector<int> counts;  // of the GPUs of each kind of a mixed group
  int ranks = 0;
};

struct CollectiveGroupKey {
  std::string gpu, node;
  std::vector<std::string> nodes;
  std::int64_t ranks;
  int stride;
  std::string stack, nccl_version;
  bool operator==(const CollectiveGroupKey&) const = default;
};

CollectiveGroup group_with_network(std::vector<Cluster> kinds, int ranks,
                                   const CollectiveQuestion& q, const Bundle& bundle) {
  CollectiveGroup g;
  const ParallelPlan plan{.tp = q.stride, .pp = 1, .dp = ranks, .ep = 1};
  g.network = make_mixed_network(kinds, plan, library_of(q.stack), bundle, version_of(q));
  g.ranks = ranks;
  for (const Cluster& c : kinds) {
    g.gpus += (g.gpus.empty() ? "" : " + ") + c.gpu().id;
    g.nodes += (g.nodes.empty() ? "" : " + ") + c.node_type().id;
  }
  g.kinds = std::move(kinds);
  return g;
}

CollectiveGroup mixed_group(const CollectiveQuestion& q, const Facts& facts) {
  const Catalog& catalog = facts.catalog();
  const std::vector<NodeRun> runs = node_runs(q.nodes, catalog);
  const int ranks = gpus_of(runs);
  if (ranks < 2) throw InputError("collective.nodes: a group has at least 2 GPUs");
  if (q.stride != 1) {
    throw InputError("collective.stride: a group of nodes that differ is all their GPUs");
  }
  std::vector<Cluster> kinds;
  for (const NodeType& type : kinds_of(runs))
    kinds.emplace_back(catalog, catalog.gpu(type.gpus.at(0)), ranks, type);
  CollectiveGroup g = group_with_network(std::move(kinds), ranks, q, facts.bundle());
  g.nodes = to_text(runs);
  for (const Cluster& c : g.kinds) {
    int& count = g.counts.emplace_back(0);
    for (const NodeRun& run : runs)
      if (run.type.id == c.node_type().id) count += run.count * run.type.gpu_count;
  }
  return g;
}

CollectiveGroup collective_group(const CollectiveQuestion& q,
                                 const ServingSetup::Hardware& hardware, const Facts& facts) {
  if (!q.nodes.empty()) return mixed_group(q, facts);
  const Gpu gpu = gpu_of(facts.catalog(), hardware.gpu, hardware.node);
  const std::int64_t ranks = q.gpus.value_or(kUsualCollectiveRanks);
  if (ranks * q.stride > kMostCollectiveRanks) {
    throw InputError(fmt::format("collective: {} GPUs with a stride of {} span more than {} GPUs",
                                 ranks, q.stride, kMostCollectiveRanks));
  }
  const int n = static_cast<int>(ranks);
  return group_with_network({Cluster(facts.catalog(), gpu, n * q.stride, hardware.node)}, n, q,
                            facts.bundle());
}

}  // namespace

std::vector<Point> answer_collective(Facts& facts, const CollectiveQuestion& q,
                                     const ServingSetup::Hardware& hardware,
                                     const CallChoice& accounts, bool bounds) {
  if (q.flow.asked()) {
    if (accounts.asked()) {
      throw InputError(
          "cost, energy: a collective at flow level states neither power nor money; without "
          "fidelity flow, topology and trace it does");
    }
    if (q.exchange.imbalance != 1)
      throw InputError("collective.imbalance: not supported at flow level");
    if (q.is_exchange()) {
      throw InputError(
          fmt::format("{}: the flow level has no such exchange; take all-to-all", q.kind));
    }
    return answer_flow(facts, q.flow,
                       {.kind = kind_of(q.kind),
                        .bytes = q.bytes,
                        .gpus = q.gpus.value_or(kUsualCollectiveRanks),
                        .all_gpus = !q.gpus,
                        .stride = q.stride,
                        .stack = q.stack,
                        .gpu = hardware.gpu,
                        .node = hardware.node,
                        .nodes = q.nodes});
  }
  const auto group = facts.latest<CollectiveGroup>(
      CollectiveGroupKey{.gpu = hardware.gpu,
                         .node = hardware.node,
                         .nodes = q.nodes,
                         .ranks = q.gpus.value_or(kUsualCollectiveRanks),
                         .stride = q.stride,
                         .stack = q.stack,
                         .nccl_version = q.nccl_version},
      [&] { return collective_group(q, hardware, facts); });
  const AskedCollective asked{.facts = facts,
                              .question = q,
                              .kinds = group->kinds,
                              .network = *group->network,
                              .ranks = group->ranks,
                              .gpus = group->counts,
                              .hardware = hardware,
                              .accounts = accounts};
  Point p;
  p.at = {
      {"collective", q.kind}, {"gpu", group->gpus}, {"node", group->nodes}, {"gpus", group->ranks}};
  if (q.is_exchange()) {
    add_exchange(asked, q.tokens, p);
  } else {
    add_collective(asked, q.bytes, p);
  }
  if (!hardware.node.empty()) {
    if (auto note = note_of_ports(asked)) p.notes.push_back(*std::move(note));
  }
  const Cluster& first = group->kinds.front();
  if (bounds) bound_collective(first.link(group->ranks, q.stride), first.gpu(), p);
  return {std::move(p)};
}

}  // namespace orrery
