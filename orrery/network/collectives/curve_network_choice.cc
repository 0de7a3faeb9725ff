#include <fmt/format.h>

#include "orrery/base/error.h"
#include "orrery/network/collectives/curve_network.h"

namespace orrery {

NcclChoice CurveNetwork::checked_choice(const Collective& c, const NcclForced& forced) const {
  std::optional<Tuned> scratch;
  const Tuned& t = tuned_of(c, placement_, forced, scratch);
  const auto best = nccl_choose(t.graph, c.kind, t.costs, c.bytes, forced);
  if (best) return *best;
  const std::string_view why =
      why_not_offered(t.graph, c.kind, forced.algorithm.value_or(NcclAlgorithm::kRing),
                      forced.protocol.value_or(NcclProtocol::kSimple));
  throw InputError(fmt::format("{}{}{} is not offered for {} of {} ranks on {} node{}: {}",
                               forced.algorithm ? to_text(*forced.algorithm) : "",
                               forced.algorithm && forced.protocol ? " with " : "",
                               forced.protocol ? to_text(*forced.protocol) : "", to_text(c.kind),
                               c.ranks, t.graph.nodes, t.graph.nodes > 1 ? "s" : "",
                               why.empty() ? "not by all of the nodes" : why));
}

CollectiveChoice CurveNetwork::choice(const Collective& c, const NcclForced& forced) const {
  if (c.ranks <= 1 || c.bytes <= Bytes(0)) return {"none", "", "nothing to send"};
  if (is_point_to_point(c.kind) && !forced.algorithm && !forced.protocol)
    return {"direct", "", "every rank sends to its peers; NCCL has no other way"};
  const CollectiveTime t = timed(c, forced, placement_);
  if (t.algorithm == "one-shot" || t.algorithm == "two-shot")
    return {t.algorithm, "", fmt::format("{}'s own kernel is faster than the library", stack_)};
  const NcclChoice best = checked_choice(c, forced);
  std::string reason = forced.algorithm || forced.protocol
                           ? fmt::format("forced; the tuner reckons {}", to_text(best.time))
                           : fmt::format("least of the tuner's reckonings: {}", to_text(best.time));
  std::optional<Tuned> scratch;
  const Tuned& tuned = tuned_of(c, placement_, forced, scratch);
  std::optional<NcclChoice> second;
  for (std::size_t a = 0; a < kNcclAlgorithms; ++a) {
    const auto algorithm = static_cast<NcclAlgorithm>(a);
    if (algorithm == best.algorithm) continue;
    const auto other = nccl_choose(tuned.graph, c.kind, tuned.costs, c.bytes, {algorithm, {}});
    if (other && (!second || other->time < second->time)) second = other;
  }
  if (second) {
    reason += fmt::format(", against {} for {} {}", to_text(second->time),
                          to_text(second->algorithm), to_text(second->protocol));
  }
  return {to_text(best.algorithm), to_text(best.protocol), std::move(reason)};
}

std::string CurveNetwork::provenance(const Collective& c) const {
  if (c.ranks <= 1) return "one rank: nothing to send";
  const GroupLink link = group_link(c, placement_);
  const NetworkConstants::Found& known = constants_of(*link.fabric);
  const std::string text = fmt::format("{} on {}", stack_, link.fabric->id);
  if (link.nodes > 1 ? !has_across_ : known.constants.curves.empty())
    return text + ", data-sheet bandwidth at assumed efficiency";
  return fmt::format(
      "{}, {} {}", text,
      origin_of(known, *link.fabric) == Origin::kTransferred ? "transferred from" : "measured on",
      known.constants.measured_on);
}

}  // namespace orrery
