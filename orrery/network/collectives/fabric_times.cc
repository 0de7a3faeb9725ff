#include "orrery/network/collectives/fabric_times.h"

#include <algorithm>
#include <cmath>

#include "orrery/network/algorithms/curve_algorithm.h"
#include "orrery/network/collectives/library_curve.h"

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

// A fabric without a file or substitute has its nominal bandwidth at the efficiency that rings
// reach on the measured fabrics (0.57 to 0.81 on NVLink, xGMI and InfiniBand), the latency of a
// kernel launch, and a step of one hop with its protocol.
CostCurve unknown_fabric() {
  CostCurve curve;
  curve.latency = microseconds(6);
  curve.step = microseconds(1.5);
  curve.efficiency.fill(0.65);
  return curve;
}

}  // namespace

// The rows of the switch's curve are of long messages, where it is the fastest. Its start there is
// a part of the transfer, and later than that of a short message. A short message that is forced
// onto the switch therefore takes NCCL's estimate where that is quicker, but no less than `free`,
// the time of the library's own choice.
void FabricTimes::start_of_switch(const Collective& c, const GroupLink& link, Seconds free,
                                  const ForcedChoice& forced, JudgedTime& choice) const {
  const NcclGraph graph = known_.graph(link, forced);
  CurveTime estimate = library_time(kWithinNode, nccl_costs(graph, c.kind), c.bytes,
                                    bisection_bound(known_.cluster, link, c.kind, c.bytes), forced);
  estimate.total = std::max(estimate.total, free);
  if (estimate.total >= choice.time.total) return;
  choice.time = estimate;
  choice.shared = known_.unseen.other_fabric[size_class(c.bytes)], choice.error = 0;
  choice.weaken(Origin::kTransferred);
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
void FabricTimes::count_switches(const Collective& c, const GroupLink& link,
                                 JudgedTime& choice) const {
  using Kind = Collective::Kind;
  if (c.kind != Kind::kAllReduce && c.kind != Kind::kAllGather && c.kind != Kind::kReduceScatter)
    return;  // no other collective is reduced or copied in a switch
  const ForcedChoice in_switch{CollectiveAlgorithm::kNvls, {}};
  const NcclCosts costs = nccl_costs(known_.graph(link), c.kind);
  if (!nccl_choose(costs, c.bytes, in_switch)) return;
  const Seconds switches =
      library_time(kWithinNode, costs, c.bytes,
                   bisection_bound(known_.cluster, link, c.kind, c.bytes), in_switch)
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
void FabricTimes::limit_by_two_domains(const Collective& c, JudgedTime& choice) const {
  if (c.kind != Collective::Kind::kAllReduce ||
      known_.cluster.scale_up()->kind != FabricKind::kSwitch)
    return;
  const bool measured = known_.has_inter_node && known_.inter_node.rows > 0 &&
                        !known_.inter_node.gpus.empty() &&
                        known_.network.origin < Origin::kTransferred;
  if (!measured) return;
  if (2 * c.ranks > known_.inter_node.most_ranks) return;
  const GroupLink link{known_.cluster.network(), known_.cluster.network_per_gpu(), c.ranks, 2, 1};
  const NcclGraph graph = known_.graph(link);
  JudgedTime both;
  both.time = library_time(known_.inter_node.curve, nccl_costs(graph, c.kind), c.bytes,
                           bisection_bound(known_.cluster, link, c.kind, c.bytes));
  both.shared = known_.inter_node.errors.parts(both.time);
  both.error = known_.inter_node.errors.curve;
  const double ahead = std::log(both.time.total / choice.time.total);
  if (ahead < 0) {
    choice.time.total = both.time.total;
    choice.time.latency = std::min(choice.time.latency, both.time.total);
    choice.time.transfer = std::min(choice.time.transfer, both.time.total);
  }
  const double reach = estimate_of(both).sigma() + std::max(0.0, ahead) / heavy_quantile(0.95);
  if (reach < estimate_of(choice).sigma()) choice.shared = reach, choice.error = 0;
}

// A send that no row of its file was fitted to starts as the ring of that file does, which holds a
// part of the host of the file's machine. Cards with a wire of their own have another host. They
// start as the measured sends do, and keep the share of the wire.
void FabricTimes::start_of_pair(const FittedCurve& send, const Fabric& fabric,
                                const MeasuredConstants& known, JudgedTime& choice) const {
  if (send.kind != Collective::Kind::kSend || send.rows > 0 || fabric.kind != FabricKind::kMesh ||
      known.origin < Origin::kTransferred || known_.unseen.send_start <= Seconds(0))
    return;
  choice.time = curve_time(known_.unseen.send_start, choice.time.transfer, 0);
}

// The errors of a curve by how much the machine differs from those that were measured.
void FabricTimes::judge_server(const CurveChoice& best, const FabricCollective& on,
                               JudgedTime& choice) const {
  const MeasuredConstants& known = known_.constants_of(on.fabric);
  const std::size_t size = size_class(on.bytes);
  if (best.curve->rows == 0) choice.weaken(Origin::kTransferred);
  if (on.tree != nullptr) {
    choice.weaken(Origin::kTransferred);
    choice.shared = size == 0 ? known_.unseen.other_fabric[size] : kOtherServer;
  } else if (known_.has_other_tree(on.fabric)) {
    // Trees differ in their bandwidth; small messages err as on any fabric that was not measured.
    choice.shared = size == 0 ? known_.unseen.other_fabric[size] : kOtherTree;
  } else if (on.fabric.kind == FabricKind::kBus) {
    choice.shared = kOtherServer;
  } else if (choice.origin >= Origin::kTransferred) {
    choice.shared = known_.unseen.other_fabric[size], choice.error = 0;
  } else if (!known.constants.was_measured_on(known_.cluster.gpu().id)) {
    choice.shared = known_.unseen.same_fabric[size], choice.error = 0;
  }
}

JudgedTime FabricTimes::by_curve(const Collective& c, const GroupLink& link,
                                 const FabricCollective& on, const CurveChoice& best,
                                 const ForcedChoice& forced) const {
  const MeasuredConstants& known = known_.constants_of(on.fabric);
  const std::size_t size = size_class(c.bytes);
  JudgedTime choice{best.time, best.algorithm, best.curve->left_out_error[size],
                    known_.origin_of(known, on.fabric)};
  if (on.tree == nullptr) start_of_pair(*best.curve, on.fabric, known, choice);
  judge_server(best, on, choice);
  if (c.kind != Collective::Kind::kSend) choice.most_ranks = best.curve->most_ranks[size];
  if (choice.most_ranks > 0 && on.ranks > choice.most_ranks) {
    const double far = std::log(1.0 * on.ranks / choice.most_ranks) / std::log(kFarGroup);
    choice.shared = root_of_squares(choice.shared.value_or(0),
                                    known_.unseen.other_fabric[size] * std::min(1.0, far));
    choice.weaken(Origin::kTransferred);
    if (!forced.any() && size < 2) count_switches(c, link, choice);
    if (on.ranks == c.ranks) limit_by_two_domains(c, choice);
  }
  if (!curve_algorithm(best.algorithm).framework_kernel)
    known_.judge_version(best.curve->versions, c.bytes, choice);
  if (curve_of(forced) && curve_algorithm(best.algorithm).reduces_in_switch) {
    const CurveChoice free = fastest(known.constants.curves, "library", on);
    if (free.curve != best.curve) start_of_switch(c, link, free.time.total, forced, choice);
  }
  return choice;
}

JudgedTime FabricTimes::of(const Collective& c, const GroupLink& link, int ranks,
                           std::string_view stack, const ForcedChoice& forced) const {
  const MeasuredConstants& known = known_.constants_of(*link.fabric);
  const auto only = curve_of(forced);
  FabricCollective on{*link.fabric,   c.kind,       ranks,          c.bytes,
                      link.bandwidth, link.bridged, known_.version, known_.pcie.of(link)};
  if (!link.fabric->peer_to_peer && known.origin >= Origin::kTransferred)
    on.bandwidth *= kThroughHost;
  const CurveChoice best = fastest(known.constants.curves, stack, on, only);
  if (forced.any() && (!only || best.curve == nullptr || best.algorithm != *only)) {
    GroupLink wires = link;
    if (on.tree != nullptr) wires.bandwidth = std::min(wires.bandwidth, on.tree->ring);
    JudgedTime choice{
        library_time(kWithinNode, nccl_costs(known_.graph(wires, forced), c.kind), c.bytes,
                     bisection_bound(known_.cluster, link, c.kind, c.bytes), forced),
        forced.algorithm, 0, Origin::kAnalytical};
    if (is_symmetric(forced)) choice.shared = kSymmetricParts.parts(choice.time);
    return choice;
  }
  if (best.curve != nullptr) return by_curve(c, link, on, best, forced);
  const auto algorithm =
      is_point_to_point(c.kind) ? CollectiveAlgorithm::kDirect : CollectiveAlgorithm::kRing;
  return {curve_time(unknown_fabric(), c.kind, algorithm, ranks, c.bytes, on.bandwidth), algorithm,
          0, Origin::kAnalytical};
}

}  // namespace orrery
