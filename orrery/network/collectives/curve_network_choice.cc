#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/base/error.h"
#include "orrery/network/algorithms/curve_algorithm.h"
#include "orrery/network/collectives/curve_network.h"

namespace orrery {
namespace {

bool is_framework_kernel(std::string_view algorithm) {
  const auto known = parse_collective_algorithm(algorithm, AlgorithmModel::kCurve);
  return known && curve_algorithm(*known).framework_kernel;
}

}  // namespace

NcclCosts CurveNetwork::asked_costs(const Collective& c, const RankPlacement& p,
                                    const ForcedChoice& forced, const TunerInputs& inputs) const {
  if (&asked_tables_ == &tables_) return inputs.costs;
  const int stride = stride_of(c, p);
  const auto costs_on = [&](const Cluster& cluster) {
    return nccl_costs(
        nccl_graph(asked_tables_, cluster, cluster.link(c.ranks, stride), forced, version_),
        c.kind);
  };
  NcclCosts costs = costs_on(cluster_);
  for (const Cluster& other : other_kinds_) costs = slowest(costs, costs_on(other));
  return costs;
}

// A framework's own kernel does not depend on the version. Over several nodes the fitted factors
// are those of the whole library, so that only the named choice is the version's there.
std::optional<CollectiveAlgorithm> CurveNetwork::choice_of_version(const Collective& c,
                                                                   const RankPlacement& p) const {
  const bool library = stack_ == "nccl" || stack_ == "pytorch" || stack_ == "pytorch-loop";
  if (&asked_tables_ == &tables_ || !library || is_point_to_point(c.kind)) return std::nullopt;
  if (group_link(c, p).nodes > 1) return std::nullopt;
  std::optional<TunerInputs> scratch;
  const TunerInputs& inputs = tuner_inputs_of(c, p, {}, scratch);
  const auto usual = nccl_choose(inputs.costs, c.bytes, {});
  const auto asked = nccl_choose(asked_costs(c, p, {}, inputs), c.bytes, {});
  if (!usual || !asked || usual->algorithm == asked->algorithm) return std::nullopt;
  return asked->algorithm;
}

NcclChoice CurveNetwork::checked_choice(const Collective& c, const ForcedChoice& forced) const {
  std::optional<TunerInputs> scratch;
  const TunerInputs& inputs = tuner_inputs_of(c, placement_, forced, scratch);
  const NcclCosts costs = asked_costs(c, placement_, forced, inputs);
  if (const auto best = nccl_choose(costs, c.bytes, forced)) return *best;
  const std::string_view why =
      why_not_offered(inputs.graph, c.kind, forced.algorithm.value_or(CollectiveAlgorithm::kRing),
                      forced.protocol.value_or(CollectiveProtocol::kSimple));
  const bool later = version_ && forced.algorithm &&
                     has_model(*forced.algorithm, AlgorithmModel::kTuner) &&
                     *version_ < tuner_algorithm(*forced.algorithm).since;
  const std::string reason =
      later         ? fmt::format("NCCL {} does not have it, {} does", to_text(*version_),
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
  const CollectiveTime t = timed(c, forced, placement_);
  if (is_framework_kernel(t.algorithm))
    return {t.algorithm, "", fmt::format("{}'s own kernel is faster than the library", stack_)};
  std::optional<TunerInputs> scratch;
  const TunerInputs& inputs = tuner_inputs_of(c, placement_, forced, scratch);
  const NcclCosts costs = asked_costs(c, placement_, forced, inputs);
  const NcclChoice best = checked_choice(c, forced);
  std::string reason = fmt::format(
      "{} {}", forced.any() ? "forced; the tuner estimates" : "the least of the tuner's estimates:",
      to_text(best.time));
  // The tuner's choice names the time of a measured group. In a larger domain the time is that of
  // one curve, whatever the tuner would choose there.
  const GroupLink link = group_link(c, placement_);
  const Choice timed_by =
      link.nodes == 1 && !forced.any() ? inside(c, link, c.ranks, stack_, forced) : Choice{};
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
  const GroupLink link = group_link(c, placement_);
  const MeasuredConstants& known = constants_of(*link.fabric);
  const std::string library =
      version_ ? fmt::format(" {}{}", stack_ == "nccl" ? "" : "with NCCL ", to_text(*version_))
               : "";
  const std::string text = fmt::format("{}{} on {}", stack_, library, link.fabric->id);
  if (link.nodes > 1 ? !has_inter_node_ : known.constants.curves.empty())
    return text + ", data-sheet bandwidth at assumed efficiency";
  const Choice t = link.nodes > 1 ? between_nodes(c, link, placement_, {})
                                  : inside(c, link, c.ranks, stack_, {});
  const bool transferred =
      origin_of(known, *link.fabric) == Origin::kTransferred || t.other_versions != nullptr;
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
    all += pcie_.of(link) != nullptr
               ? "; over the switches and sockets that the node describes"
               : "; the server's switches and sockets are not described (key pcie of a node file)";
  }
  const NodeNetwork& ports = cluster_.node_type().network;
  if (link.nodes > 1 && ports.oversubscription > 1) {
    all += fmt::format("; leaf switches of {} nodes with uplinks {:g}:1, which was not measured",
                       ports.leaf_nodes, ports.oversubscription);
  }
  return all;
}

}  // namespace orrery
