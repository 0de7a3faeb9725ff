// CurveNetwork within a node: the fastest fitted curve, or the tuner's estimate of a forced pair.
#include <algorithm>
#include <cmath>

#include "orrery/network/algorithms/curve_algorithm.h"
#include "orrery/network/collectives/curve_network.h"

namespace orrery {
namespace {

// The additional error of a curve that is transferred to another server's PCIe tree (switches,
// sockets, ways through host memory). The efficiencies of the ring all-reduces in catalog/network
// scatter between servers by a factor e^0.6 on 2 ranks (four servers: L40S, H100, RTX 4090, RTX PRO
// 6000) and e^1.3 on 8 (two servers).
constexpr double kOtherTree = 0.8;
// The same for another server with a GPU that was measured on one server, and for one whose tree
// is described (pcie_rates.h): what is left are its kernels and what its links reach. The root
// mean square of ln(measured / predicted without the server's rows), from 1 MiB on: L40S of NVIDIA
// 0.71 and 0.34 on 4 and 8 ranks (docs/network.md), RTX PRO 6000 0.40, 0.11 and 0.07 on 2, 4 and
// 8, H100 0.09 on 4.
constexpr double kOtherServer = 0.35;

// A group in a domain that is this factor larger than the largest measured group of such sizes is
// as uncertain as one on a fabric that was not measured; a smaller factor counts in proportion to
// its logarithm. The factor is that from a board of eight GPUs to a rack.
constexpr double kFarGroup = 8;

// Cards without peer-to-peer copies write to host memory and read from there, which halves the
// bandwidth.
constexpr double kThroughHost = 0.5;

// Errors of NCCL's estimates of its kernels for symmetric memory: 4.5 us for an empty all-reduce on
// Hopper and 11 on Blackwell. Users measured 2.3 us on eight H200 and 3 on eight B200
// (https://github.com/NVIDIA/nccl/issues/1940), and NCCL's developers less than 8 on four GB200
// (https://github.com/NVIDIA/nccl-tests/issues/333). The start is as uncertain as on a network that
// was not measured.
constexpr PartErrors kSymmetricParts{0.95, 0.35, 0};

// A forced pair within a node for which no curve was fitted (trees, protocols).
constexpr LibraryCurve kWithinNode{1.2, 0.97, 0.3};

// The fitted curve of a forced pair within a node; nullopt if there is none. A curve covers all
// protocols of its algorithm.
std::optional<CollectiveAlgorithm> curve_of(const ForcedChoice& forced) {
  if (!forced.algorithm || !has_model(*forced.algorithm, AlgorithmModel::kCurve) ||
      !has_model(*forced.algorithm, AlgorithmModel::kTuner))
    return std::nullopt;
  if (forced.protocol && !tuner_algorithm(*forced.algorithm).simple_only) return std::nullopt;
  return forced.algorithm;
}

}  // namespace

// The rows of the switch's curve are of long messages, where it is the fastest. Its start there is
// a part of the transfer, and later than that of a short message. A short message that is forced
// onto the switch therefore takes NCCL's estimate where that is quicker, but no less than `free`,
// the time of the library's own choice.
void CurveNetwork::start_of_switch(const Collective& c, const GroupLink& link, Seconds free,
                                   const ForcedChoice& forced, Choice& choice) const {
  const NcclGraph graph = nccl_graph(tables_, cluster_, link, forced, version_);
  CurveTime estimate = library_time(kWithinNode, nccl_costs(graph, c.kind), c.bytes,
                                    bisection_bound(cluster_, link, c.kind, c.bytes), forced);
  estimate.total = std::max(estimate.total, free);
  if (estimate.total >= choice.time.total) return;
  choice.time = estimate;
  choice.shared = unseen_.other_fabric[size_class(c.bytes)], choice.error = 0;
  choice.origin = std::max(choice.origin, Origin::kTransferred);
  choice.most_ranks = 0;
}

// The curve is that of a ring of eight GPUs, whose steps grow with the ranks: 126 of them among 64
// GPUs. The library has a reduction in the domain's switches besides, whose latency it estimates to
// be the same for any number of GPUs. No public measurement tells which of the two runs, and how
// late. The start of a message is therefore the geometric mean of both, and the interval reaches
// from the one to the other. For 32 GPUs of a GB200 rack that is 50 us, where NVIDIA's factor of
// 7.6 to 9 over kernels of 6.3 us gives 48 to 57
// (https://developer.nvidia.com/blog/enabling-fast-inference-and-resilient-training-with-nccl-2-27,
// https://github.com/NVIDIA/nccl-tests/issues/333). The time of a message
// whose transfer is a part of it lies nearer to the curve.
void CurveNetwork::count_switches(const Collective& c, const GroupLink& link,
                                  Choice& choice) const {
  using Kind = Collective::Kind;
  if (c.kind != Kind::kAllReduce && c.kind != Kind::kAllGather && c.kind != Kind::kReduceScatter)
    return;  // no other collective is reduced or copied in a switch
  const ForcedChoice in_switch{CollectiveAlgorithm::kNvls, {}};
  const NcclCosts costs = nccl_costs(nccl_graph(tables_, cluster_, link, {}, version_), c.kind);
  if (!nccl_choose(costs, c.bytes, in_switch)) return;
  const Seconds switches = library_time(kWithinNode, costs, c.bytes,
                                        bisection_bound(cluster_, link, c.kind, c.bytes), in_switch)
                               .total;
  CurveTime& chain = choice.time;
  const double ahead = std::log(chain.total / switches);
  if (ahead <= 0) return;
  const double half = ahead / 2 * (chain.latency / chain.total);
  const double factor = std::exp(-half);
  chain.total *= factor, chain.latency *= factor, chain.transfer *= factor;
  choice.shared = root_of_squares(choice.shared.value_or(0), half / heavy_quantile(0.95));
}

// The two domains are a group of twice the ranks over the network. Its factors were measured with
// such domains if they belong to a class of GPUs of their own. One domain takes part in the group,
// so that it is not the slower one, and the upper end of its interval is not above the other's.
void CurveNetwork::limit_by_two_domains(const Collective& c, Choice& choice) const {
  if (c.kind != Collective::Kind::kAllReduce || cluster_.scale_up()->kind != FabricKind::kSwitch)
    return;
  const bool measured = has_inter_node_ && inter_node_.rows > 0 && !inter_node_.gpus.empty() &&
                        network_.origin < Origin::kTransferred;
  if (!measured) return;
  if (2 * c.ranks > inter_node_.most_ranks) return;
  const GroupLink link{cluster_.network(), cluster_.network_per_gpu(), c.ranks, 2, 1};
  const NcclGraph graph = nccl_graph(tables_, cluster_, link, {}, version_);
  Choice both;
  both.time = library_time(inter_node_.curve, nccl_costs(graph, c.kind), c.bytes,
                           bisection_bound(cluster_, link, c.kind, c.bytes));
  both.shared = inter_node_.errors.parts(both.time);
  both.error = inter_node_.errors.curve;
  const double ahead = std::log(both.time.total / choice.time.total);
  if (ahead < 0) {
    choice.time.total = both.time.total;
    choice.time.latency = std::min(choice.time.latency, both.time.total);
    choice.time.transfer = std::min(choice.time.transfer, both.time.total);
  }
  const double reach = estimate(both).sigma() + std::max(0.0, ahead) / heavy_quantile(0.95);
  if (reach < estimate(choice).sigma()) choice.shared = reach, choice.error = 0;
}

// A send that no row of its file was fitted to starts as the ring of that file does, which holds a
// part of the host of the file's machine. Cards with a wire of their own have another host. They
// start as the measured sends do, and keep the share of the wire.
void CurveNetwork::start_of_pair(const FittedCurve& send, const Fabric& fabric,
                                 const MeasuredConstants& known, Choice& choice) const {
  if (send.kind != Collective::Kind::kSend || send.rows > 0 || fabric.kind != FabricKind::kMesh ||
      known.origin < Origin::kTransferred || unseen_.send_start <= Seconds(0))
    return;
  choice.time = curve_time(unseen_.send_start, choice.time.transfer, 0);
}

CurveNetwork::Choice CurveNetwork::inside(const Collective& c, const GroupLink& link, int ranks,
                                          std::string_view stack,
                                          const ForcedChoice& forced) const {
  const MeasuredConstants& known = constants_of(*link.fabric);
  const auto only = curve_of(forced);
  BytesPerSecond bandwidth = link.bandwidth;
  const PcieRates* const tree = pcie_.of(link);
  if (!link.fabric->peer_to_peer && known.origin >= Origin::kTransferred) bandwidth *= kThroughHost;
  const CurveChoice best = fastest(
      known.constants.curves, stack,
      {*link.fabric, c.kind, ranks, c.bytes, bandwidth, link.bridged, version_, tree}, only);
  if (forced.any() && (!only || best.curve == nullptr || best.algorithm != *only)) {
    GroupLink wires = link;
    if (tree != nullptr) wires.bandwidth = std::min(wires.bandwidth, tree->ring);
    const NcclGraph graph = nccl_graph(tables_, cluster_, wires, forced, version_);
    Choice choice{library_time(kWithinNode, nccl_costs(graph, c.kind), c.bytes,
                               bisection_bound(cluster_, link, c.kind, c.bytes), forced),
                  forced.algorithm, 0, Origin::kAnalytical};
    if (is_symmetric(forced)) choice.shared = kSymmetricParts.parts(choice.time);
    return choice;
  }
  if (best.curve != nullptr) {
    const std::size_t size = size_class(c.bytes);
    const double error = best.curve->left_out_error[size];
    Choice choice{best.time, best.algorithm, error, origin_of(known, *link.fabric)};
    if (tree == nullptr) start_of_pair(*best.curve, *link.fabric, known, choice);
    if (best.curve->rows == 0) choice.origin = std::max(choice.origin, Origin::kTransferred);
    if (tree != nullptr) {
      choice.origin = std::max(choice.origin, Origin::kTransferred);
      choice.shared = size == 0 ? unseen_.other_fabric[size] : kOtherServer;
    } else if (has_other_tree(*link.fabric)) {
      // Trees differ in their bandwidth; small messages err as on any fabric that was not measured.
      choice.shared = size == 0 ? unseen_.other_fabric[size] : kOtherTree;
    } else if (link.fabric->kind == FabricKind::kBus) {
      choice.shared = kOtherServer;
    } else if (choice.origin >= Origin::kTransferred) {
      choice.shared = unseen_.other_fabric[size], choice.error = 0;
    } else if (!known.constants.was_measured_on(cluster_.gpu().id)) {
      choice.shared = unseen_.same_fabric[size], choice.error = 0;
    }
    if (c.kind != Collective::Kind::kSend) choice.most_ranks = best.curve->most_ranks[size];
    if (choice.most_ranks > 0 && ranks > choice.most_ranks) {
      const double far = std::log(1.0 * ranks / choice.most_ranks) / std::log(kFarGroup);
      choice.shared = root_of_squares(choice.shared.value_or(0),
                                      unseen_.other_fabric[size] * std::min(1.0, far));
      choice.origin = std::max(choice.origin, Origin::kTransferred);
      if (!forced.any() && size < 2) count_switches(c, link, choice);
      if (ranks == c.ranks) limit_by_two_domains(c, choice);
    }
    if (!curve_algorithm(best.algorithm).framework_kernel)
      judge_version(best.curve->versions, c.bytes, choice);
    if (only && curve_algorithm(best.algorithm).reduces_in_switch) {
      const CurveChoice free =
          fastest(known.constants.curves, "library",
                  {*link.fabric, c.kind, ranks, c.bytes, bandwidth, link.bridged, version_, tree});
      if (free.curve != best.curve) start_of_switch(c, link, free.time.total, forced, choice);
    }
    return choice;
  }
  const auto algorithm =
      is_point_to_point(c.kind) ? CollectiveAlgorithm::kDirect : CollectiveAlgorithm::kRing;
  return {curve_time(unknown_, c.kind, algorithm, ranks, c.bytes, bandwidth), algorithm, 0,
          Origin::kAnalytical};
}

}  // namespace orrery
