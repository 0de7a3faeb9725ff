#include "orrery/network/collectives/nccl_tuner.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace orrery {
namespace {

using CollectiveKind = Collective::Kind;
using A = NcclAlgorithm;
using P = NcclProtocol;

constexpr std::size_t index(auto e) { return static_cast<std::size_t>(e); }

using PerProtocol = std::array<double, kNcclProtocols>;  // LL, LL128, Simple
using PerAlgorithm = std::array<PerProtocol, kNcclAlgorithms>;

// Microseconds, in the order of NcclAlgorithm.
constexpr PerAlgorithm kBase = {{{6.8, 14, 8.4}, {6.6, 14, 8.4}, {}, {}, {}, {}, {8, 8, 8}}};
constexpr PerAlgorithm kNvlink = {
    {{.6, 1.25, 4.0}, {.6, 1.9, 3.4}, {0, 0, 3.7}, {0, 0, 2.8}, {0, 0, 25}, {0, 0, 25}, {0, 0, 4}}};
constexpr PerAlgorithm kPci = {
    {{1.0, 1.9, 4.0}, {1.0, 2.5, 5.7}, {0, 0, 3.7}, {0, 0, 2.8}, {}, {}, {0, 0, 4}}};
constexpr PerAlgorithm kNet = {
    {{5.0, 8.5, 14}, {2.7, 4.0, 14}, {0, 0, 31}, {0, 0, 30}, {0, 0, 18}, {0, 0, 20.9}, {0, 0, 14}}};

// GB/s; rows by generation, columns for 1, 2 and 4 or more nodes.
using PerNodes = std::array<double, 3>;
constexpr std::array<double, 4> kLlOneNode = {39, 87.7, 141, 282};
constexpr std::array<double, 4> kRingLl128 = {20, 20, 36.7, 40};
constexpr std::array<PerNodes, 4> kTreeLl128 = {
    {{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29}, {55.6, 31.67, 20}}};
constexpr std::array<PerNodes, 4> kTree = {
    {{26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}}};
constexpr std::array<PerNodes, 4> kNvlsTree = {{{}, {}, {57.7, 57.7, 45.5}, {96, 96, 80}}};
constexpr std::array<double, 4> kNvlsEfficiency = {0, 0, .85, .74};
constexpr PerNodes kLlIntel = {39.0, 39.0, 20.4}, kLlAmd = {22.5, 22.5, 19.0};

// One loop of NVLS takes a chunk for each GPU of the domain on each channel: what one GPU's largest
// ones take. The reduction in the switch within a domain starts so much later for every GPU: 56 us
// on H100 x8, 6.8 us for each GPU of a rack (catalog/network: nvlink4-nvswitch, nvlink5-nvl72).
constexpr Seconds kStageOfGpu = microseconds(7);
// Slots of a connection's buffer (NCCL_STEPS), each of which a slower NIC holds for its latency.
constexpr double kSlots = 8;

// Factors of the trees' bandwidth by log2(bytes / 64).
constexpr std::size_t kCorrections = 23;
constexpr std::array<std::array<double, kCorrections>, kNcclProtocols> kTreeCorrection = {
    {{1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1},
     {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1},
     {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9}}};

std::size_t node_column(int nodes) { return nodes <= 2 ? static_cast<std::size_t>(nodes - 1) : 2; }

double steps(CollectiveKind kind, int ranks) {
  if (kind == CollectiveKind::kAllReduce) return 2.0 * (ranks - 1);
  return kind == CollectiveKind::kAllGather || kind == CollectiveKind::kReduceScatter ? ranks - 1
                                                                                      : ranks;
}

// Steps of a ring that cross between nodes.
double inter_steps(CollectiveKind kind, int nodes) {
  if (nodes == 1) return 0;
  if (kind == CollectiveKind::kAllReduce) return 2.0 * (nodes - 1);
  return kind == CollectiveKind::kAllGather || kind == CollectiveKind::kReduceScatter ? nodes - 1
                                                                                      : nodes;
}

// Bus bandwidth in GB/s.
double bus_bandwidth(const NcclGraph& g, CollectiveKind kind, A a, P p) {
  constexpr double kGb = 1e9;
  const std::size_t generation = index(g.generation), column = node_column(g.nodes);
  const double channels = g.channels, inter = g.inter.value() / kGb;
  const double bus = channels * (g.nodes <= 2 ? g.intra.value() / kGb : inter);
  const double ll_most =
      g.nodes == 1 ? kLlOneNode[generation] : (g.amd_cpu ? kLlAmd : kLlIntel)[column];
  if (a == A::kNvls || a == A::kNvlsTree) {
    const double n = g.nvls_channels;
    double each = g.nvls.value() / kGb * kNvlsEfficiency[generation] * (n - 1) / n;
    each *= kind == CollectiveKind::kAllReduce
                ? 2
                : (g.ranks_per_node - 1.0) / static_cast<double>(g.ranks_per_node);
    if (a == A::kNvlsTree) {
      each = std::min(
          {each, inter * channels / n * (g.nodes <= 2 ? 2 : 1), kNvlsTree[generation][column]});
    }
    return n * each;
  }
  if (a == A::kRing) {
    if (p == P::kLl) return std::min(ll_most, bus / 2);
    return p == P::kLl128 ? std::min(.92 * bus, channels * kRingLl128[generation]) : bus;
  }
  if (a == A::kTree) {
    const double tree = std::min(.92 * bus, channels * kTree[generation][column]);
    if (p == P::kLl) return std::min(tree / 3.8, ll_most);
    if (p == P::kLl128) {
      return std::min(tree * (g.nodes == 1 ? 7.0 / 9 : 120.0 / 128),
                      channels * kTreeLl128[generation][column]);
    }
    return tree;
  }
  return a == A::kPat ? .75 * bus : bus;
}

// Microseconds.
double latency(const NcclGraph& g, CollectiveKind kind, A a, P p, double nic_latency) {
  const std::size_t i = index(a), j = index(p);
  const double base = kBase[i][j];
  const double intra = (g.nvlink ? kNvlink : kPci)[i][j];
  const double inter = kNet[i][j] + nic_latency * (p == P::kSimple ? 2 : 1);
  const double depth = std::bit_width(static_cast<unsigned>(g.nodes)) - 1;  // floor(log2)
  switch (a) {
    case A::kRing: {
      const double crossing = inter_steps(kind, g.nodes);
      const double overhead = g.nodes == 1 ? 0 : (g.amd_cpu ? 2 : 1) * (p == P::kSimple ? 3 : 1);
      return base + (steps(kind, g.ranks()) - crossing) * std::max(intra, overhead) +
             crossing * inter;
    }
    case A::kTree:
      return base + 2 * ((g.ranks_per_node - 1) * intra + depth * inter);
    case A::kNvls:
      return intra + (g.nodes > 1 ? inter : 0);
    case A::kNvlsTree:
      return intra + 2 * depth * inter;
    case A::kPat:
      return base + depth * inter / 3.5 + 2.8 * g.ranks();
    case A::kCollNetDirect:
    case A::kCollNetChain:
      return 2 * (std::min(1, g.ranks_per_node - 1) * intra + .4 * (g.ranks_per_node - 1)) + inter;
  }
  return 0;
}

// Bus to algorithm bandwidth.
double per_bus(const NcclGraph& g, CollectiveKind kind, A a) {
  const bool by_steps = a == A::kRing || a == A::kNvls || a == A::kNvlsTree;
  if (by_steps) return g.ranks() / steps(kind, g.ranks());
  if (a == A::kCollNetDirect || a == A::kCollNetChain) return 1;  // a port once each way
  return kind == CollectiveKind::kAllReduce ? .5 : 1;
}

// Lower case without '-' and '_'.
std::string squeezed(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c != '-' && c != '_') out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

template <class E>
std::optional<E> parse(std::string_view text, const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (squeezed(names[i]) == squeezed(text)) return static_cast<E>(i);
  }
  return std::nullopt;
}

}  // namespace

const std::vector<std::string>& nccl_algorithm_names() {
  static const std::vector<std::string> names = {
      "tree", "ring", "collnet-direct", "collnet-chain", "nvls", "nvls-tree", "pat"};
  return names;
}

const std::vector<std::string>& nccl_protocol_names() {
  static const std::vector<std::string> names = {"ll", "ll128", "simple"};
  return names;
}

std::string_view to_text(NcclAlgorithm a) { return nccl_algorithm_names()[index(a)]; }
std::string_view to_text(NcclProtocol p) { return nccl_protocol_names()[index(p)]; }

std::optional<NcclAlgorithm> parse_nccl_algorithm(std::string_view text) {
  return parse<NcclAlgorithm>(text, nccl_algorithm_names());
}
std::optional<NcclProtocol> parse_nccl_protocol(std::string_view text) {
  return parse<NcclProtocol>(text, nccl_protocol_names());
}

std::string_view why_not_offered(const NcclGraph& g, CollectiveKind kind, A a, P p) {
  if (kind == CollectiveKind::kAllToAll || kind == CollectiveKind::kSend)
    return "it has no algorithm to choose";
  if (g.rings_only && a != A::kRing) return "over nodes this library takes rings alone";
  if (p != P::kSimple && a != A::kRing && a != A::kTree) return "it has the Simple protocol alone";
  if (p == P::kLl128 && !(g.ll128 && g.nvlink)) return "LL128 needs NVLink";
  const bool gathers = kind == CollectiveKind::kAllGather || kind == CollectiveKind::kReduceScatter;
  const bool reduces = kind == CollectiveKind::kAllReduce;
  switch (a) {
    case A::kRing:
      return "";
    case A::kTree:
      return reduces ? "" : "trees are for all-reduces";
    case A::kCollNetDirect:
    case A::kCollNetChain:
      if (!reduces && !(gathers && a == A::kCollNetDirect)) return "CollNet is for all-reduces";
      if (g.nodes == 1) return "CollNet is for several nodes";
      return g.collnet ? "" : "CollNet needs a network whose switches add up";
    case A::kNvls:
      if (g.nvls_channels == 0) return "the node's switch does not add up";
      if (!reduces && !gathers) return "NVLS is for all-reduces, all-gathers and reduce-scatters";
      return g.nodes == 1 || g.collnet ? "" : "NVLS over nodes needs CollNet; nvls-tree does not";
    case A::kNvlsTree:
      if (g.nvls_channels == 0) return "the node's switch does not add up";
      if (!reduces) return "trees are for all-reduces";
      return g.nodes > 1 ? "" : "NVLSTree is for several nodes";
    case A::kPat:
      if (!gathers) return "PAT is for all-gathers and reduce-scatters";
      return g.ranks_per_node == 1 ? "" : "PAT needs one rank a node";
  }
  return "";
}

NcclCost nccl_cost(const NcclGraph& g, CollectiveKind kind, A a, P p) {
  if (!why_not_offered(g, kind, a, p).empty()) return {};
  const double bus = bus_bandwidth(g, kind, a, p);
  const double all = latency(g, kind, a, p, g.nic_latency / microseconds(1));
  NcclCost cost{bus > 0, microseconds(all), BytesPerSecond(bus * per_bus(g, kind, a) * 1e9)};
  cost.nic = microseconds(all - latency(g, kind, a, p, 0));
  if (a == A::kNvlsTree) {
    cost.stages = 2 * std::log2(static_cast<double>(g.nodes));
    cost.fill = cost.stages * (kStageOfGpu * g.ranks_per_node + kSlots * g.nic_latency);
  }
  return cost;
}

NcclCosts nccl_costs(const NcclGraph& g, CollectiveKind kind) {
  NcclCosts all;
  for (std::size_t a = 0; a < kNcclAlgorithms; ++a) {
    for (std::size_t p = 0; p < kNcclProtocols; ++p) {
      const NcclCost cost = nccl_cost(g, kind, static_cast<A>(a), static_cast<P>(p));
      if (cost.available) all.add({static_cast<A>(a), static_cast<P>(p), cost});
    }
  }
  return all;
}

NcclCosts slowest(const NcclCosts& a, const NcclCosts& b) {
  NcclCosts both;
  for (const NcclCosts::Offer& x : a) {
    for (const NcclCosts::Offer& y : b) {
      if (x.algorithm != y.algorithm || x.protocol != y.protocol) continue;
      // The NIC's part of the latency is not scaled with the rest (library_curve.h).
      both.add({x.algorithm,
                x.protocol,
                {true,
                 std::max(x.cost.latency - x.cost.nic, y.cost.latency - y.cost.nic) +
                     std::max(x.cost.nic, y.cost.nic),
                 std::min(x.cost.bandwidth, y.cost.bandwidth), std::max(x.cost.nic, y.cost.nic),
                 std::max(x.cost.stages, y.cost.stages), std::max(x.cost.fill, y.cost.fill)}});
    }
  }
  return both;
}

Seconds nccl_time(const NcclGraph& g, CollectiveKind kind, A a, P p, const NcclCost& cost,
                  Bytes bytes) {
  Seconds start = cost.latency;
  double factor = 1;
  if (kind == CollectiveKind::kAllReduce && a == A::kTree) {
    // floor(log2) of whole units of 64 bytes.
    const auto units = static_cast<std::uint64_t>(std::min(bytes.value() / 64, 1e18));
    const auto size = static_cast<std::size_t>(std::bit_width(units | 1) - 1);
    if (size < kCorrections) factor = kTreeCorrection[index(p)][size];
  }
  if (kind == CollectiveKind::kAllReduce && a == A::kRing && p == P::kSimple && g.nodes > 1 &&
      bytes.value() / (g.channels * static_cast<double>(g.ranks())) >= 64) {
    start *= g.generation == NcclGeneration::kVolta ? 1.9 : 1.4;
  }
  return start + bytes / (cost.bandwidth * factor);
}

std::optional<NcclChoice> nccl_choose(const NcclGraph& g, CollectiveKind kind,
                                      const NcclCosts& costs, Bytes bytes,
                                      const NcclForced& forced) {
  std::optional<NcclChoice> best;
  for (const auto& [a, p, cost] : costs) {
    if (!forced.allows(a, p)) continue;
    const Seconds t = nccl_time(g, kind, a, p, cost, bytes);
    if (!best || t < best->time) best = {a, p, t};
  }
  return best;
}

}  // namespace orrery
