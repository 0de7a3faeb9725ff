#include "orrery/network/collectives/curve_network.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "orrery/base/error.h"
#include "orrery/network/algorithms/curve_algorithm.h"
#include "orrery/network/collectives/library_curve.h"

namespace orrery {
namespace {

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

// Every rank's kernel but the last one's waits for the last launch. The time of that launch within
// the loop is unknown, so the interval reaches from no wait to a whole loop of a slower host.
void wait_for_ranks(const Collective& c, JudgedTime& choice) {
  const Seconds kernel = choice.time.total;
  const Seconds wait = std::max(Seconds(0), kPytorchLoop - kernel) * ((c.ranks - 1.0) / c.ranks);
  choice.time.latency += wait;
  choice.time.total += wait;
  const double down = std::log(choice.time.total / kernel);
  const double up = std::log(kSlowerHost * kPytorchLoop / choice.time.total);
  choice.error = std::hypot(choice.error, std::max({0.0, down, up}) / heavy_quantile(0.95));
}

bool is_framework_kernel(std::string_view algorithm) {
  const auto known = parse_collective_algorithm(algorithm, AlgorithmModel::kCurve);
  return known && curve_algorithm(*known).framework_kernel;
}

}  // namespace

CurveNetwork::CurveNetwork(const Cluster& cluster, const ParallelPlan& plan, std::string stack,
                           const Bundle& bundle, const std::vector<Cluster>& other_kinds,
                           std::optional<LibraryVersion> version)
    : known_(cluster, plan, std::move(stack), bundle, other_kinds, version),
      routes_(known_, plan),
      fabrics_(known_),
      inter_node_(known_, routes_, fabrics_) {}

CollectiveTime CurveNetwork::predict(const Collective& c, const ForcedChoice& forced) const {
  if (c.ranks > 1 && forced.any()) checked_choice(c, forced);
  return timed(c, forced, known_.placement);
}

JudgedTime CurveNetwork::judged(const Collective& c, const GroupLink& link, const RankPlacement& p,
                                const ForcedChoice& forced) const {
  return link.nodes > 1 ? inter_node_.of(c, link, p, forced)
                        : fabrics_.of(c, link, c.ranks, known_.stack, forced);
}

CollectiveTime CurveNetwork::timed(const Collective& c, const ForcedChoice& forced,
                                   const RankPlacement& p) const {
  CollectiveTime result{{}, "none", CollectiveBound::kLatency, {}};
  if (c.ranks <= 1 || c.bytes <= Bytes(0)) return result;
  if (!forced.any()) {
    if (const auto other = routes_.choice_of_version(c, p)) return timed(c, {other, {}}, p);
  }
  const GroupLink link = known_.link_of(c, p);
  JudgedTime choice = judged(c, link, p, forced);
  if (known_.stack == "pytorch" && c.kind != Collective::Kind::kSend) {
    choice.time.latency += kPytorchLaunch;
    choice.time.total += kPytorchLaunch;
    choice.error = std::hypot(choice.error, kLaunchError * (kPytorchLaunch / choice.time.total));
  }
  if (known_.stack == "pytorch-loop" && c.kind != Collective::Kind::kSend)
    wait_for_ranks(c, choice);
  result.algorithm = choice.algorithm ? to_text(*choice.algorithm) : "library";
  result.bound = choice.time.latency > choice.time.transfer ? CollectiveBound::kLatency
                                                            : CollectiveBound::kBandwidth;
  result.time = estimate_of(choice);
  result.bus_bandwidth = c.bytes * bus_factor(c.kind, c.ranks) / choice.time.total;
  if (link.nodes > 1) {
    const bool ring = choice.algorithm == CollectiveAlgorithm::kRing;
    result.port_time = std::min(
        choice.time.total, port_time(link, c.kind, c.ranks, c.bytes, ring, is_collnet(forced)));
  }
  return result;
}

CollectiveTime CurveNetwork::exchange(const ExpertExchange& x, Collective::Group group, int ranks,
                                      const RankPlacement& p) const {
  const Collective c{Collective::Kind::kAllToAll, group, ranks, Bytes(1)};
  const int stride = stride_of(c, p);
  const GroupLink link = known_.link_of(c, p);
  // A fabric on which DeepEP was not measured has the start and share of NVLink.
  ExpertCurve unknown;
  unknown.start = kUnknownExpertStart;
  const bool single = link.nodes > 1 && link.ranks_per_node == 1;
  const GroupLink local = link.nodes == 1 ? link
                          : single        ? GroupLink{}
                                          : known_.cluster.link(link.ranks_per_node, stride);
  Estimate<Seconds> e;
  const auto curve_of_fabric = [&](const Fabric* fabric) -> ExpertCurve {
    const MeasuredConstants* constants = fabric ? &known_.constants_of(*fabric) : nullptr;
    const ExpertCurve* found = constants ? expert_curve(constants->constants.experts, x) : nullptr;
    e.origin = std::max(e.origin, found ? constants->origin : Origin::kAnalytical);
    e.own = std::hypot(e.own, found ? found->left_out_error : kAnalyticalOwn);
    return found ? *found : unknown;
  };
  const ExpertCurve inside = single ? unknown : curve_of_fabric(local.fabric);
  const ExpertCurve between = link.nodes > 1 ? curve_of_fabric(link.fabric) : unknown;
  const ExpertTime t = expert_time(x, link, inside, local.bandwidth, between);
  e.value = t.total;
  e.shared = shared_error(e.origin);
  CollectiveTime result;
  result.time = e;
  result.algorithm = x.low_latency ? "low-latency" : "normal";
  result.bound =
      t.start > t.total - t.start ? CollectiveBound::kLatency : CollectiveBound::kBandwidth;
  const ExpertBytes bytes = expert_bytes(x, link);
  result.bus_bandwidth = bytes.counted / t.total;
  const int units = known_.cluster.gpu().compute_units;
  if (!x.low_latency && units > 0) result.held = std::min(x.sms, units - 1) / (1.0 * units);
  if (link.nodes > 1) result.port_time = std::min(t.total, t.between * between.share);
  return result;
}

Seconds CurveNetwork::bound(const Collective& c, const ForcedChoice& forced) const {
  if (c.ranks <= 1) return Seconds(0);
  const RankPlacement& p = known_.placement;
  return known_.bound(c, known_.link_of(c, p), p, is_collnet(forced));
}

NcclChoice CurveNetwork::checked_choice(const Collective& c, const ForcedChoice& forced) const {
  std::optional<TunerInputs> scratch;
  const TunerInputs& inputs = routes_.of(c, known_.placement, forced, scratch);
  const NcclCosts costs = routes_.asked_costs(c, known_.placement, forced, inputs);
  if (const auto best = nccl_choose(costs, c.bytes, forced)) return *best;
  const std::string_view why =
      why_not_offered(inputs.graph, c.kind, forced.algorithm.value_or(CollectiveAlgorithm::kRing),
                      forced.protocol.value_or(CollectiveProtocol::kSimple));
  const bool later = known_.version && forced.algorithm &&
                     has_model(*forced.algorithm, AlgorithmModel::kTuner) &&
                     *known_.version < tuner_algorithm(*forced.algorithm).since;
  const std::string reason =
      later         ? fmt::format("NCCL {} does not have it, {} does", to_text(*known_.version),
                                  to_text(tuner_algorithm(*forced.algorithm).since))
      : why.empty() ? "some of the group's nodes do not offer it"
                    : std::string(why);
  throw InputError(fmt::format("{}{}{} is not offered for {} of {} ranks on {} node{}: {}",
                               forced.algorithm ? to_text(*forced.algorithm) : "",
                               forced.algorithm && forced.protocol ? " with " : "",
                               forced.protocol ? to_text(*forced.protocol) : "", to_text(c.kind),
                               c.ranks, inputs.graph.nodes, inputs.graph.nodes > 1 ? "s" : "",
                               reason));
}

CollectiveChoice CurveNetwork::choice(const Collective& c, const ForcedChoice& forced) const {
  if (c.ranks <= 1 || c.bytes <= Bytes(0)) return {"none", "", "nothing to send"};
  if (is_point_to_point(c.kind) && !forced.any())
    return {to_text(CollectiveAlgorithm::kDirect), "",
            "every rank sends to its peers; NCCL has no other way"};
  const CollectiveTime t = timed(c, forced, known_.placement);
  if (is_framework_kernel(t.algorithm))
    return {t.algorithm, "",
            fmt::format("{}'s own kernel is faster than the library", known_.stack)};
  std::optional<TunerInputs> scratch;
  const TunerInputs& inputs = routes_.of(c, known_.placement, forced, scratch);
  const NcclCosts costs = routes_.asked_costs(c, known_.placement, forced, inputs);
  const NcclChoice best = checked_choice(c, forced);
  std::string reason = fmt::format(
      "{} {}", forced.any() ? "forced; the tuner estimates" : "the least of the tuner's estimates:",
      to_text(best.time));
  // The tuner's choice names the time of a measured group. In a larger domain the time is that of
  // one curve, whatever the tuner would choose there.
  const GroupLink link = known_.link_of(c, known_.placement);
  const JudgedTime timed_by = link.nodes == 1 && !forced.any()
                                  ? fabrics_.of(c, link, c.ranks, known_.stack, forced)
                                  : JudgedTime{};
  if (timed_by.most_ranks > 0 && c.ranks > timed_by.most_ranks &&
      timed_by.algorithm != best.algorithm) {
    if (const auto own = nccl_choose(inputs.costs, c.bytes, {timed_by.algorithm, {}})) {
      return {to_text(own->algorithm), to_text(own->protocol),
              fmt::format("the fastest by the curves of smaller groups; the tuner estimates {}, "
                          "and {} for {} {}, which it would choose; a small message has a time "
                          "between both, because no measurement tells which of them runs",
                          to_text(own->time), to_text(best.time), to_text(best.algorithm),
                          to_text(best.protocol)),
              tuner_algorithm(own->algorithm).nvls_kernel};
    }
  }
  std::optional<NcclChoice> second;
  for (const auto& [algorithm, protocol, cost] : costs) {
    if (algorithm == best.algorithm) continue;
    const Seconds time = nccl_time(cost, c.bytes);
    if (!second || time < second->time) second = {algorithm, protocol, time};
  }
  if (second) {
    reason += fmt::format(", against {} for {} {}", to_text(second->time),
                          to_text(second->algorithm), to_text(second->protocol));
  }
  return {to_text(best.algorithm), to_text(best.protocol), std::move(reason),
          tuner_algorithm(best.algorithm).nvls_kernel};
}

std::string CurveNetwork::provenance(const Collective& c) const {
  if (c.ranks <= 1) return "one rank: nothing to send";
  const GroupLink link = known_.link_of(c, known_.placement);
  const MeasuredConstants& known = known_.constants_of(*link.fabric);
  const std::string library = known_.version
                                  ? fmt::format(" {}{}", known_.stack == "nccl" ? "" : "with NCCL ",
                                                to_text(*known_.version))
                                  : "";
  const std::string text = fmt::format("{}{} on {}", known_.stack, library, link.fabric->id);
  if (link.nodes > 1 ? !known_.has_inter_node : known.constants.curves.empty())
    return text + ", data-sheet bandwidth at assumed efficiency";
  const JudgedTime t = judged(c, link, known_.placement, {});
  const bool transferred =
      known_.origin_of(known, *link.fabric) == Origin::kTransferred || t.other_versions != nullptr;
  std::string all = fmt::format("{}, {} {}", text, transferred ? "transferred from" : "measured on",
                                known.constants.measured_on);
  if (t.other_versions != nullptr) {
    all += t.other_versions->empty()
               ? " with a version that is not known"
               : fmt::format(" with NCCL {}", fmt::join(*t.other_versions, ", "));
  }
  if (t.most_ranks > 0 && c.ranks > t.most_ranks)
    all += fmt::format(" in groups of at most {} GPUs", t.most_ranks);
  if (link.fabric->kind == FabricKind::kBus) {
    all += known_.pcie.of(link) != nullptr
               ? "; over the switches and sockets that the node describes"
               : "; the server's switches and sockets are not described (key pcie of a node file)";
  }
  const NodeNetwork& ports = known_.cluster.node_type().network;
  if (link.nodes > 1 && ports.oversubscription > 1) {
    all += fmt::format("; leaf switches of {} nodes with uplinks {:g}:1, which was not measured",
                       ports.leaf_nodes, ports.oversubscription);
  }
  return all;
}

}  // namespace orrery
