#include "orrery/network/collectives/curve_network.h"

#include <algorithm>
#include <cmath>

#include "orrery/base/error.h"
#include "orrery/network/collectives/library_curve.h"

namespace orrery {
namespace {

// A fabric that no file stands for: nominal bandwidth at the efficiency that rings reach on the
// measured fabrics (0.57..0.81 on NVLink, xGMI and InfiniBand), a kernel launch, and a hop with its
// protocol.
constexpr double kUnknownEfficiency = 0.65;
constexpr Seconds kUnknownLatency = microseconds(6);
constexpr Seconds kUnknownStep = microseconds(1.5);

// Relative errors beside the one of a curve. Shared: machines of one fabric differ (cables, clocks,
// library versions); H100 against H200 and B200 against B300 on the same fabric differ by about 3
// %. Transferred: the spread of latencies and efficiencies between the measured fabrics.
constexpr double kMeasuredShared = 0.03;
constexpr double kTransferredShared = 0.10, kTransferredOwn = 0.25;
constexpr double kAnalyticalShared = 0.20, kAnalyticalOwn = 0.40;

// Another server's PCIe tree (switches, sockets, ways through host memory), beside that of a
// transferred curve. Of catalog/network's ring all-reduces the efficiency's standard deviation
// between servers is a factor e^0.6 over 2 ranks (four servers: L40S, H100, RTX 4090, RTX PRO 6000)
// and e^1.3 over 8 (the two that were measured so far).
constexpr double kOtherTree = 0.8;

// Over several nodes, of a network that no file stands for: about what the fit leaves on networks
// that it has not seen (start_elsewhere 0.95 and width_elsewhere 0.34 in catalog/network). And the
// width of an all-to-all or send over several nodes, of which no measurements are at hand: a guess
// between a network that was seen (0.10) and one that was not.
constexpr PartErrors kUnknownParts{0.95, 0.35, 0};
constexpr double kPeersWidth = 0.25;

// Cards without peer-to-peer copies write to host memory and read back: half of the bandwidth.
constexpr double kThroughHost = 0.5;

// DeepEP's kernels on NVLink start in 11 (low latency) to 48 us.
constexpr Seconds kUnknownExpertStart = microseconds(30);

// torch.distributed's launch (network_model.h).
constexpr Seconds kPytorchLaunch = microseconds(19);
constexpr double kLaunchError = 0.6;  // 10 to 45 us on VIDUR's hosts, by eye

// The time between two launches of a loop of torch.distributed's calls, and how far a host's own
// may be above it (network_model.h): both by eye from VIDUR's rows on H100 and A100, which
// therefore judge nothing.
constexpr Seconds kPytorchLoop = microseconds(40);
constexpr double kSlowerHost = 1.5;

// A pair of the tuner within a node that no curve was fitted for: forced trees and protocols.
constexpr LibraryCurve kWithinNode{1.2, 0.97, 0.3};

int group_stride(const Collective& c, const RankPlacement& p) {
  switch (c.group) {
    case Collective::Group::kTensor:
      return p.tensor;
    case Collective::Group::kPipeline:
      return p.pipeline;
    case Collective::Group::kData:
      return p.data;
    case Collective::Group::kExpert:
      return c.ranks > p.tensor_ranks ? p.wide_expert : p.expert;
    case Collective::Group::kContext:
      return p.context;
    case Collective::Group::kReplica:
      return p.replica;
    case Collective::Group::kExpertData:
      return p.expert_data;
  }
  return 1;
}

// The curve that a forced pair has within a node; nullopt: none was fitted.
std::optional<CollectiveAlgorithm> curve_of(const NcclForced& forced) {
  if (forced.algorithm == NcclAlgorithm::kRing && !forced.protocol)
    return CollectiveAlgorithm::kRing;
  if (forced.algorithm == NcclAlgorithm::kNvls) return CollectiveAlgorithm::kInNetwork;
  return std::nullopt;
}

}  // namespace

CurveNetwork::CurveNetwork(const Cluster& cluster, const ParallelPlan& plan, std::string stack,
                           const Bundle& bundle, const std::vector<Cluster>& beside)
    : cluster_(cluster), beside_(beside), placement_(placement(plan)), stack_(std::move(stack)) {
  const NetworkConstants constants(bundle);
  if (cluster_.scale_up() != nullptr) scale_up_ = constants.of(*cluster_.scale_up());
  other_tree_ = !scale_up_.constants.was_measured_on(cluster_.gpu().id);
  if (cluster_.bridge() != nullptr) bridge_ = constants.of(*cluster_.bridge());
  if (cluster_.network() != nullptr) network_ = constants.of(*cluster_.network());
  across_.elsewhere = kUnknownParts;
  unknown_.latency = kUnknownLatency;
  unknown_.step = kUnknownStep;
  unknown_.efficiency.fill(kUnknownEfficiency);
  if (const FittedAcross* a = network_.constants.across_of(cluster_.gpu().id)) {
    across_ = *a;
    has_across_ = true;
    // Factors of NVIDIA's GPUs, for want of others.
    if (a->gpus.empty() && cluster_.gpu().vendor != "nvidia")
      network_.origin = std::max(network_.origin, Origin::kTransferred);
  }
  for (const auto& [ranks, stride] : {std::pair{plan.tp, 1}, std::pair{plan.dp, plan.tp * plan.pp},
                                      std::pair{plan.tp * plan.dp, plan.pp}}) {
    if (ranks > 1 && stride <= cluster_.gpus() / ranks) routes_.push_back(route(ranks, stride));
  }
}

CollectiveTime CurveNetwork::predict(const Collective& c, const NcclForced& forced) const {
  if (c.ranks > 1 && (forced.algorithm || forced.protocol)) checked_choice(c, forced);
  return timed(c, forced, placement_);
}

CollectiveTime CurveNetwork::exchange(const ExpertExchange& x, Collective::Group group, int ranks,
                                      const RankPlacement& p) const {
  const Collective c{Collective::Kind::kAllToAll, group, ranks, Bytes(1)};
  const int stride = group_stride(c, p);
  const GroupLink link = group_link(c, p);
  // Of a fabric that DeepEP was not measured on: its start and share on NVLink.
  ExpertCurve unknown;
  unknown.start = kUnknownExpertStart;
  const bool single = link.nodes > 1 && link.ranks_per_node == 1;
  const GroupLink local = link.nodes == 1 ? link
                          : single        ? GroupLink{}
                                          : cluster_.link(link.ranks_per_node, stride);
  Estimate<Seconds> e;
  const auto curve_of_fabric = [&](const Fabric* fabric) -> ExpertCurve {
    const NetworkConstants::Found* known = fabric ? &constants_of(*fabric) : nullptr;
    const ExpertCurve* found = known ? expert_curve(known->constants.experts, x) : nullptr;
    e.origin = std::max(e.origin, found ? known->origin : Origin::kAnalytical);
    e.own = std::hypot(e.own, found ? found->left_out_error : kAnalyticalOwn);
    return found ? *found : unknown;
  };
  const ExpertCurve inside = single ? unknown : curve_of_fabric(local.fabric);
  const ExpertCurve between = link.nodes > 1 ? curve_of_fabric(link.fabric) : unknown;
  const ExpertTime t = expert_time(x, link, inside, local.bandwidth, between);
  e.value = t.total;
  e.shared = e.origin <= Origin::kFitted        ? kMeasuredShared
             : e.origin == Origin::kTransferred ? kTransferredShared
                                                : kAnalyticalShared;
  CollectiveTime result;
  result.time = e;
  result.algorithm = x.low_latency ? "low-latency" : "normal";
  result.bound =
      t.start > t.total - t.start ? CollectiveBound::kLatency : CollectiveBound::kBandwidth;
  const ExpertBytes bytes = expert_bytes(x, link);
  result.bus_bandwidth = bytes.counted / t.total;
  if (link.nodes > 1)
    result.on_port = std::min(t.total, bytes.between * x.imbalance / link.bandwidth);
  return result;
}

GroupLink CurveNetwork::group_link(const Collective& c, const RankPlacement& p) const {
  const bool stages = c.group == Collective::Group::kPipeline && c.kind == Collective::Kind::kSend;
  return cluster_.link(stages ? std::max(p.stages, 2) : c.ranks, group_stride(c, p));
}

CurveNetwork::Tuned CurveNetwork::tuned(int ranks, int stride, Collective::Kind kind,
                                        bool collnet) const {
  const GroupLink link = cluster_.link(ranks, stride);
  const NcclGraph graph = nccl_graph(cluster_, link, collnet);
  Tuned t{graph, nccl_costs(graph, kind), {}};
  if (link.nodes > 1 && link.ranks_per_node > 1)
    t.within = cluster_.link(link.ranks_per_node, stride);
  for (const Cluster& other : beside_) {
    const GroupLink theirs = other.link(ranks, stride);
    t.costs = slowest(t.costs, nccl_costs(nccl_graph(other, theirs, collnet), kind));
  }
  return t;
}

Seconds CurveNetwork::bound_of(const Collective& c, const GroupLink& link, const RankPlacement& p,
                               bool collnet) const {
  Seconds bound = bisection_bound(cluster_, link, c.kind, c.bytes, collnet);
  for (const Cluster& other : beside_) {
    const GroupLink theirs = other.link(c.ranks, group_stride(c, p));
    bound = std::max(bound, bisection_bound(other, theirs, c.kind, c.bytes, collnet));
  }
  return bound;
}

Seconds CurveNetwork::bound(const Collective& c, const NcclForced& forced) const {
  if (c.ranks <= 1) return Seconds(0);
  return bound_of(c, group_link(c, placement_), placement_, forced.collnet());
}

CurveNetwork::Route CurveNetwork::route(int ranks, int stride) const {
  Route r;
  r.ranks = ranks, r.stride = stride;
  for (std::size_t k = 0; k < kKinds; ++k)
    r.kinds[k] = tuned(ranks, stride, static_cast<Collective::Kind>(k));
  return r;
}

const CurveNetwork::Tuned& CurveNetwork::tuned_of(const Collective& c, const RankPlacement& p,
                                                  const NcclForced& forced,
                                                  std::optional<Tuned>& scratch) const {
  const int stride = group_stride(c, p);
  if (forced.collnet()) return scratch.emplace(tuned(c.ranks, stride, c.kind, true));
  for (const Route& r : routes_) {
    if (r.ranks == c.ranks && r.stride == stride) return r.kinds[static_cast<std::size_t>(c.kind)];
  }
  return scratch.emplace(tuned(c.ranks, stride, c.kind));
}

const NetworkConstants::Found& CurveNetwork::constants_of(const Fabric& fabric) const {
  if (&fabric == cluster_.network()) return network_;
  return &fabric == cluster_.bridge() ? bridge_ : scale_up_;
}

// The kernel of any rank but the last one waits for the last one's launch. Where it falls in the
// loop is not known: the interval reaches from no wait to a whole loop of a slower host.
void CurveNetwork::wait_for_ranks(const Collective& c, Choice& choice) {
  const Seconds kernel = choice.time.total;
  const Seconds wait = std::max(Seconds(0), kPytorchLoop - kernel) * ((c.ranks - 1.0) / c.ranks);
  choice.time.latency += wait;
  choice.time.total += wait;
  const double down = std::log(choice.time.total / kernel);
  const double up = std::log(kSlowerHost * kPytorchLoop / choice.time.total);
  choice.error = std::hypot(choice.error, std::max({0.0, down, up}) / heavy_quantile(0.95));
}

CollectiveTime CurveNetwork::timed(const Collective& c, const NcclForced& forced,
                                   const RankPlacement& p) const {
  CollectiveTime result{{}, "none", CollectiveBound::kLatency, {}};
  if (c.ranks <= 1 || c.bytes <= Bytes(0)) return result;
  const GroupLink link = group_link(c, p);
  Choice choice =
      link.nodes > 1 ? across_nodes(c, link, p, forced) : inside(c, link, c.ranks, stack_, forced);
  if (stack_ == "pytorch" && c.kind != Collective::Kind::kSend) {
    choice.time.latency += kPytorchLaunch;
    choice.time.total += kPytorchLaunch;
    choice.error = std::hypot(choice.error, kLaunchError * (kPytorchLaunch / choice.time.total));
  }
  if (stack_ == "pytorch-loop" && c.kind != Collective::Kind::kSend) wait_for_ranks(c, choice);
  result.algorithm = choice.algorithm;
  result.bound = choice.time.latency > choice.time.transfer ? CollectiveBound::kLatency
                                                            : CollectiveBound::kBandwidth;
  result.time = estimate(choice);
  result.bus_bandwidth = c.bytes * bus_factor(c.kind, c.ranks) / choice.time.total;
  if (link.nodes > 1) {
    const bool ring = choice.algorithm == to_text(CollectiveAlgorithm::kRing);
    result.on_port = std::min(choice.time.total,
                              port_time(link, c.kind, c.ranks, c.bytes, ring, forced.collnet()));
  }
  return result;
}

CurveNetwork::Choice CurveNetwork::inside(const Collective& c, const GroupLink& link, int ranks,
                                          std::string_view stack, const NcclForced& forced) const {
  const NetworkConstants::Found& known = constants_of(*link.fabric);
  const auto only = curve_of(forced);
  BytesPerSecond bandwidth = link.bandwidth;
  if (!link.fabric->peer_to_peer && known.origin >= Origin::kTransferred) bandwidth *= kThroughHost;
  const CurveChoice best =
      fastest(known.constants.curves, stack, *link.fabric, c.kind, ranks, c.bytes, bandwidth, only);
  const bool is_forced = forced.algorithm || forced.protocol;
  if (is_forced && (!only || best.curve == nullptr || best.algorithm != *only)) {
    const NcclGraph graph = nccl_graph(cluster_, link);
    return {library_time(kWithinNode, nccl_costs(graph, c.kind), c.bytes,
                         bisection_bound(cluster_, link, c.kind, c.bytes), forced),
            forced.algorithm ? to_text(*forced.algorithm) : "library", 0, Origin::kAnalytical};
  }
  if (best.curve != nullptr) {
    const double error = best.curve->left_out_error[size_class(c.bytes)];
    return {best.time, to_text(best.algorithm),
            has_other_tree(*link.fabric) ? root_of_squares(error, kOtherTree) : error,
            origin_of(known, *link.fabric)};
  }
  const auto algorithm =
      is_point_to_point(c.kind) ? CollectiveAlgorithm::kDirect : CollectiveAlgorithm::kRing;
  return {curve_time(unknown_, c.kind, algorithm, ranks, c.bytes, bandwidth), to_text(algorithm), 0,
          Origin::kAnalytical};
}

CurveNetwork::Choice CurveNetwork::across_nodes(const Collective& c, const GroupLink& link,
                                                const RankPlacement& p,
                                                const NcclForced& forced) const {
  const Origin origin = has_across_ ? network_.origin : Origin::kAnalytical;
  const PartErrors& errors = origin >= Origin::kTransferred ? across_.elsewhere : across_.errors;
  Choice choice{{}, "direct", errors.curve, origin};
  if (!is_point_to_point(c.kind)) {
    std::optional<Tuned> scratch;
    const Tuned& t = tuned_of(c, p, forced, scratch);
    choice.time = library_time(across_.curve, t.costs, c.bytes,
                               bound_of(c, link, p, forced.collnet()), forced);
    if (forced.collnet()) choice.origin = Origin::kAnalytical;  // no row of it is at hand
    choice.shared = (forced.collnet() ? kUnknownParts : errors).parts(choice.time);
    choice.algorithm = to_text(nccl_choose(t.graph, c.kind, t.costs, c.bytes, forced)->algorithm);
    if (t.within.fabric != nullptr) {
      // What a node's own ranks take among themselves: slow hosts were measured inside alone. The
      // upper end is that of the two whose interval ends later.
      const Choice inner = inside(c, t.within, t.within.ranks_per_node, "library", {});
      if (inner.time.total > choice.time.total) {
        const double ahead = std::log(inner.time.total / choice.time.total);
        const double reach = estimate(choice).sigma() - ahead / heavy_quantile(0.95);
        if (reach <= estimate(inner).sigma()) return inner;
        choice.time = inner.time;
        choice.shared = reach, choice.error = 0;
      }
    }
    return choice;
  }
  Seconds local;
  Bytes leaving = c.bytes;
  if (c.kind == Collective::Kind::kAllToAll) {
    leaving *= static_cast<double>(link.nodes - 1) / link.nodes;
    if (link.ranks_per_node > 1) {
      // Of an all-to-all only the part for the node's own ranks stays inside.
      Collective within = c;
      within.bytes = c.bytes / link.nodes;
      const Choice inner = inside(within, cluster_.link(link.ranks_per_node, group_stride(c, p)),
                                  link.ranks_per_node, "library", {});
      local = inner.time.transfer;
      choice.origin = std::max(choice.origin, inner.origin);
    }
  }
  choice.time = point_to_point_time(across_.curve, c.kind == Collective::Kind::kSend ? 2 : c.ranks,
                                    nic_latency(*link.fabric), leaving, link.bandwidth, local);
  // No table of these over several nodes was fitted.
  choice.origin = std::max(choice.origin, Origin::kTransferred);
  choice.shared = PartErrors{across_.elsewhere.start, kPeersWidth, 0}.parts(choice.time);
  return choice;
}

Estimate<Seconds> CurveNetwork::estimate(const Choice& choice) {
  Estimate<Seconds> e{choice.time.total, kMeasuredShared, choice.error, choice.origin,
                      Tails::kHeavy};
  if (choice.shared) {
    e.shared = root_of_squares(kMeasuredShared, *choice.shared);
    return e;
  }
  if (choice.origin == Origin::kTransferred) {
    e.shared = kTransferredShared;
    e.own = root_of_squares(choice.error, kTransferredOwn);
  } else if (choice.origin == Origin::kAnalytical) {
    e.shared = kAnalyticalShared;
    e.own = root_of_squares(choice.error, kAnalyticalOwn);
  }
  return e;
}

}  // namespace orrery
