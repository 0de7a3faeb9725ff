#include "orrery/network/collectives/curve_network.h"

#include <algorithm>
#include <cmath>

#include "orrery/base/error.h"
#include "orrery/network/algorithms/curve_algorithm.h"
#include "orrery/network/collectives/library_curve.h"
#include "orrery/network/wires/uplinks.h"

namespace orrery {
namespace {

// A fabric without a file or substitute has its nominal bandwidth at the efficiency that rings
// reach on the measured fabrics (0.57 to 0.81 on NVLink, xGMI and InfiniBand), the latency of a
// kernel launch, and a step of one hop with its protocol.
constexpr double kUnknownEfficiency = 0.65;
constexpr Seconds kUnknownLatency = microseconds(6);
constexpr Seconds kUnknownStep = microseconds(1.5);

// Relative errors in addition to that of a curve. Machine: machines with one GPU and fabric differ
// (cables, clocks, library versions). 64 rows of 128 MiB and more from four sources other than the
// tables of kernels (A100, H200, B200, GB200, GB300) miss by a root mean square of 0.069, where a
// curve's own sizes miss by 0.04. Measured: what is left of that where the error comes from groups
// that were left out; H100 and H200, or B200 and B300, on one fabric differ by about 3 %.
// Transferred: the spread of latencies and efficiencies between the measured fabrics.
constexpr double kMachineShared = 0.055, kMeasuredShared = 0.03;
constexpr double kTransferredShared = 0.10, kTransferredOwn = 0.25;
constexpr double kAnalyticalShared = 0.20, kAnalyticalOwn = 0.40;

// Errors across nodes on a network without a file or substitute: about those of the fit on networks
// that it has not used (start_elsewhere 0.95 and width_elsewhere 0.34 in catalog/network).
constexpr PartErrors kUnknownParts{0.95, 0.35, 0};
// The error of the transfer of an all-to-all or send across nodes, of which no measurements are
// public: a guess between that of a network that was measured (0.10) and of one that was not.
constexpr double kPeersWidth = 0.25;

// DeepEP's kernels on NVLink start in 11 (low latency) to 48 us.
constexpr Seconds kUnknownExpertStart = microseconds(30);

// The launch of torch.distributed (make_network.h).
constexpr Seconds kPytorchLaunch = microseconds(19);
constexpr double kLaunchError = 0.6;  // 10 to 45 us on the hosts of VIDUR's public runs

// The time between two launches in a loop of torch.distributed's calls, and the factor by which a
// slower host exceeds it (make_network.h). Both were read off VIDUR's public rows on H100 and A100,
// which therefore judge nothing (docs/network.md, "Inside a node").
constexpr Seconds kPytorchLoop = microseconds(40);
constexpr double kSlowerHost = 1.5;

// The tables of a cluster. A lone GPU has no collectives, and its files are not read.
const NcclTables& tables_of(const Cluster& cluster, const Bundle& bundle) {
  static const NcclTables none{};
  return cluster.gpus() > 1 ? nccl_tables(bundle) : none;
}

}  // namespace

CurveNetwork::CurveNetwork(const Cluster& cluster, const ParallelPlan& plan, std::string stack,
                           const Bundle& bundle, const std::vector<Cluster>& other_kinds,
                           std::optional<LibraryVersion> version)
    : tables_(tables_of(cluster, bundle)),
      asked_tables_(version ? nccl_tables(bundle, *version) : tables_),
      cluster_(cluster),
      other_kinds_(other_kinds),
      placement_(placement(plan)),
      stack_(std::move(stack)),
      version_(version),
      pcie_(cluster_) {
  if (cluster_.gpus() == 1) return;
  unseen_ = read_unseen_servers(bundle);
  const NetworkConstants constants(bundle);
  if (cluster_.scale_up() != nullptr) scale_up_ = constants.of(*cluster_.scale_up());
  other_tree_ = !scale_up_.constants.was_measured_on(cluster_.gpu().id);
  if (cluster_.bridge() != nullptr) bridge_ = constants.of(*cluster_.bridge());
  if (cluster_.network() != nullptr) network_ = constants.of(*cluster_.network());
  inter_node_.elsewhere = kUnknownParts;
  unknown_.latency = kUnknownLatency;
  unknown_.step = kUnknownStep;
  unknown_.efficiency.fill(kUnknownEfficiency);
  if (const FittedAcross* a = network_.constants.across_of(cluster_.gpu().id)) {
    inter_node_ = *a;
    has_inter_node_ = true;
    // The factors were fitted on GPUs of NVIDIA, or are those of most networks.
    if (a->rows == 0 || (a->gpus.empty() && cluster_.gpu().vendor != "nvidia"))
      network_.origin = std::max(network_.origin, Origin::kTransferred);
  }
  for (const auto& [ranks, stride] : {std::pair{plan.tp, 1}, std::pair{plan.dp, plan.tp * plan.pp},
                                      std::pair{plan.tp * plan.dp, plan.pp}}) {
    if (ranks > 1 && stride <= cluster_.gpus() / ranks) routes_.push_back(route(ranks, stride));
  }
}

CollectiveTime CurveNetwork::predict(const Collective& c, const ForcedChoice& forced) const {
  if (c.ranks > 1 && forced.any()) checked_choice(c, forced);
  return timed(c, forced, placement_);
}

CollectiveTime CurveNetwork::exchange(const ExpertExchange& x, Collective::Group group, int ranks,
                                      const RankPlacement& p) const {
  const Collective c{Collective::Kind::kAllToAll, group, ranks, Bytes(1)};
  const int stride = stride_of(c, p);
  const GroupLink link = group_link(c, p);
  // A fabric on which DeepEP was not measured has the start and share of NVLink.
  ExpertCurve unknown;
  unknown.start = kUnknownExpertStart;
  const bool single = link.nodes > 1 && link.ranks_per_node == 1;
  const GroupLink local = link.nodes == 1 ? link
                          : single        ? GroupLink{}
                                          : cluster_.link(link.ranks_per_node, stride);
  Estimate<Seconds> e;
  const auto curve_of_fabric = [&](const Fabric* fabric) -> ExpertCurve {
    const MeasuredConstants* known = fabric ? &constants_of(*fabric) : nullptr;
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
  const int units = cluster_.gpu().compute_units;
  if (!x.low_latency && units > 0) result.held = std::min(x.sms, units - 1) / (1.0 * units);
  if (link.nodes > 1) result.port_time = std::min(t.total, t.between * between.share);
  return result;
}

GroupLink CurveNetwork::group_link(const Collective& c, const RankPlacement& p) const {
  const bool stages = c.group == Collective::Group::kPipeline && c.kind == Collective::Kind::kSend;
  return cluster_.link(stages ? std::max(p.stages, 2) : c.ranks, stride_of(c, p));
}

CurveNetwork::TunerInputs CurveNetwork::tuner_inputs(int ranks, int stride, Collective::Kind kind,
                                                     const ForcedChoice& forced) const {
  const GroupLink link = cluster_.link(ranks, stride);
  const NcclGraph graph = nccl_graph(tables_, cluster_, link, forced, version_);
  TunerInputs t{graph, nccl_costs(graph, kind), {}};
  if (link.nodes > 1 && link.ranks_per_node > 1)
    t.within = cluster_.link(link.ranks_per_node, stride);
  for (const Cluster& other : other_kinds_) {
    const GroupLink theirs = other.link(ranks, stride);
    t.costs =
        slowest(t.costs, nccl_costs(nccl_graph(tables_, other, theirs, forced, version_), kind));
  }
  return t;
}

Seconds CurveNetwork::bound_of(const Collective& c, const GroupLink& link, const RankPlacement& p,
                               bool collnet) const {
  Seconds bound = bisection_bound(cluster_, link, c.kind, c.bytes, collnet);
  for (const Cluster& other : other_kinds_) {
    const GroupLink theirs = other.link(c.ranks, stride_of(c, p));
    bound = std::max(bound, bisection_bound(other, theirs, c.kind, c.bytes, collnet));
  }
  return bound;
}

Seconds CurveNetwork::bound(const Collective& c, const ForcedChoice& forced) const {
  if (c.ranks <= 1) return Seconds(0);
  return bound_of(c, group_link(c, placement_), placement_, is_collnet(forced));
}

CurveNetwork::GroupRoute CurveNetwork::route(int ranks, int stride) const {
  GroupRoute r;
  r.ranks = ranks, r.stride = stride;
  for (std::size_t k = 0; k < kKinds; ++k)
    r.kinds[k] = tuner_inputs(ranks, stride, static_cast<Collective::Kind>(k));
  return r;
}

const CurveNetwork::TunerInputs& CurveNetwork::tuner_inputs_of(
    const Collective& c, const RankPlacement& p, const ForcedChoice& forced,
    std::optional<TunerInputs>& scratch) const {
  const int stride = stride_of(c, p);
  if (is_collnet(forced) || is_symmetric(forced))
    return scratch.emplace(tuner_inputs(c.ranks, stride, c.kind, forced));
  for (const GroupRoute& r : routes_) {
    if (r.ranks == c.ranks && r.stride == stride) return r.kinds[static_cast<std::size_t>(c.kind)];
  }
  const std::array<int, 3> key{c.ranks, stride, static_cast<int>(c.kind)};
  const std::lock_guard lock(remembering_);
  if (const auto known = remembered_.find(key); known != remembered_.end()) return known->second;
  if (remembered_.size() >= kMostRemembered)
    return scratch.emplace(tuner_inputs(c.ranks, stride, c.kind));
  return remembered_.emplace(key, tuner_inputs(c.ranks, stride, c.kind)).first->second;
}

const MeasuredConstants& CurveNetwork::constants_of(const Fabric& fabric) const {
  if (&fabric == cluster_.network()) return network_;
  return &fabric == cluster_.bridge() ? bridge_ : scale_up_;
}

// Versions differ like GPUs that were not measured on a fabric: kernels, channels and thresholds of
// the library are others, the wires are the same.
void CurveNetwork::judge_version(const std::vector<std::string>& versions, Bytes bytes,
                                 Choice& choice) const {
  if (!version_ || was_measured_with(versions, *version_)) return;
  choice.other_versions = &versions;
  choice.shared = root_of_squares(choice.shared.value_or(kMachineShared),
                                  unseen_.same_fabric[size_class(bytes)]);
  choice.origin = std::max(choice.origin, Origin::kTransferred);
}

// Every rank's kernel but the last one's waits for the last launch. The time of that launch within
// the loop is unknown, so the interval reaches from no wait to a whole loop of a slower host.
void CurveNetwork::wait_for_ranks(const Collective& c, Choice& choice) {
  const Seconds kernel = choice.time.total;
  const Seconds wait = std::max(Seconds(0), kPytorchLoop - kernel) * ((c.ranks - 1.0) / c.ranks);
  choice.time.latency += wait;
  choice.time.total += wait;
  const double down = std::log(choice.time.total / kernel);
  const double up = std::log(kSlowerHost * kPytorchLoop / choice.time.total);
  choice.error = std::hypot(choice.error, std::max({0.0, down, up}) / heavy_quantile(0.95));
}

void CurveNetwork::wait_for_uplinks(double factor, Choice& choice) const {
  if (factor <= 1) return;
  // The term was never measured. Its interval reaches from a transfer without it to one that waits
  // twice as long, in logarithms.
  const Seconds wait = choice.time.transfer * (factor - 1);
  const double own = std::log(1 + wait / choice.time.total) / heavy_quantile(0.95);
  choice.time.transfer += wait;
  choice.time.total += wait;
  choice.shared = std::hypot(choice.shared.value_or(0), own);
  choice.origin = std::max(choice.origin, Origin::kTransferred);
}

CollectiveTime CurveNetwork::timed(const Collective& c, const ForcedChoice& forced,
                                   const RankPlacement& p) const {
  CollectiveTime result{{}, "none", CollectiveBound::kLatency, {}};
  if (c.ranks <= 1 || c.bytes <= Bytes(0)) return result;
  if (!forced.any()) {
    if (const auto other = choice_of_version(c, p)) return timed(c, {other, {}}, p);
  }
  const GroupLink link = group_link(c, p);
  Choice choice =
      link.nodes > 1 ? between_nodes(c, link, p, forced) : inside(c, link, c.ranks, stack_, forced);
  if (stack_ == "pytorch" && c.kind != Collective::Kind::kSend) {
    choice.time.latency += kPytorchLaunch;
    choice.time.total += kPytorchLaunch;
    choice.error = std::hypot(choice.error, kLaunchError * (kPytorchLaunch / choice.time.total));
  }
  if (stack_ == "pytorch-loop" && c.kind != Collective::Kind::kSend) wait_for_ranks(c, choice);
  result.algorithm = choice.algorithm ? to_text(*choice.algorithm) : "library";
  result.bound = choice.time.latency > choice.time.transfer ? CollectiveBound::kLatency
                                                            : CollectiveBound::kBandwidth;
  result.time = estimate(choice);
  result.bus_bandwidth = c.bytes * bus_factor(c.kind, c.ranks) / choice.time.total;
  if (link.nodes > 1) {
    const bool ring = choice.algorithm == CollectiveAlgorithm::kRing;
    result.port_time = std::min(
        choice.time.total, port_time(link, c.kind, c.ranks, c.bytes, ring, is_collnet(forced)));
  }
  return result;
}

CurveNetwork::Choice CurveNetwork::between_nodes(const Collective& c, const GroupLink& link,
                                                 const RankPlacement& p,
                                                 const ForcedChoice& forced) const {
  const Origin origin = has_inter_node_ ? network_.origin : Origin::kAnalytical;
  const PartErrors& errors =
      origin >= Origin::kTransferred ? inter_node_.elsewhere : inter_node_.errors;
  Choice choice{{}, CollectiveAlgorithm::kDirect, errors.curve, origin};
  if (!is_point_to_point(c.kind)) {
    std::optional<TunerInputs> scratch;
    const TunerInputs& t = tuner_inputs_of(c, p, forced, scratch);
    choice.time = library_time(inter_node_.curve, t.costs, c.bytes,
                               bound_of(c, link, p, is_collnet(forced)), forced);
    if (is_collnet(forced)) choice.origin = Origin::kAnalytical;  // never measured
    choice.shared = (is_collnet(forced) ? kUnknownParts : errors).parts(choice.time);
    choice.algorithm = nccl_choose(t.costs, c.bytes, forced)->algorithm;
    choice.most_ranks = inter_node_.most_ranks;
    if (choice.most_ranks > 0 && c.ranks > choice.most_ranks)
      choice.origin = std::max(choice.origin, Origin::kTransferred);
    const bool ring = choice.algorithm == CollectiveAlgorithm::kRing;
    wait_for_uplinks(uplink_factor(cluster_, link, stride_of(c, p),
                                   ring ? UplinkPattern::kRing : UplinkPattern::kTree),
                     choice);
    judge_version(inter_node_.versions, c.bytes, choice);
    if (t.within.fabric != nullptr) {
      // The group is no faster than its ranks within one node, which matters where a slow host was
      // measured inside a node only. The upper end is that of the later of the two intervals.
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
      // The node's own ranks get 1/nodes of an all-to-all's bytes.
      Collective within = c;
      within.bytes = c.bytes / link.nodes;
      const Choice inner = inside(within, cluster_.link(link.ranks_per_node, stride_of(c, p)),
                                  link.ranks_per_node, "library", {});
      local = inner.time.transfer;
      choice.origin = std::max(choice.origin, inner.origin);
    }
  }
  choice.time =
      point_to_point_time(inter_node_.curve, tables_,
                          {c.kind == Collective::Kind::kSend ? 2 : c.ranks,
                           nic_latency(tables_, *link.fabric), leaving, link.bandwidth, local});
  // No measured table of these across nodes was fitted.
  choice.origin = std::max(choice.origin, Origin::kTransferred);
  choice.shared = PartErrors{inter_node_.elsewhere.start, kPeersWidth, 0}.parts(choice.time);
  wait_for_uplinks(uplink_factor(cluster_, link, stride_of(c, p),
                                 c.kind == Collective::Kind::kSend ? UplinkPattern::kRing
                                                                   : UplinkPattern::kAllPairs),
                   choice);
  return choice;
}

Estimate<Seconds> CurveNetwork::estimate(const Choice& choice) {
  Estimate<Seconds> e{choice.time.total, kMachineShared, choice.error, choice.origin,
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
