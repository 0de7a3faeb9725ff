#include "orrery/network/collectives/table_hosts.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "orrery/network/algorithms/cost.h"
#include "orrery/network/collectives/network_constants.h"

namespace orrery {
namespace {

struct TableStarts {
  Seconds library;
  std::map<std::string, Seconds> frameworks;  // by stack
};

std::optional<TableStarts> starts_on(const NetworkConstants& constants, const Fabric& fabric) {
  const MeasuredConstants known = constants.of(fabric);
  if (fabric.kind != FabricKind::kSwitch || known.origin > Origin::kFitted) return std::nullopt;
  TableStarts starts;
  for (const FittedCurve& f : known.constants.curves) {
    if (f.kind != Collective::Kind::kAllReduce) continue;
    const Seconds start = f.curve.latency + f.curve.step * collective_steps(f.kind, f.algorithm, 2);
    if (f.stack == "library" && f.algorithm == CollectiveAlgorithm::kRing) starts.library = start;
    if (f.algorithm == CollectiveAlgorithm::kOneShot) starts.frameworks[f.stack] = start;
  }
  if (starts.library <= Seconds(0) || starts.frameworks.empty()) return std::nullopt;
  return starts;
}

Seconds part_beside(const TableStarts& own, const TableStarts& other) {
  Seconds later;
  int common = 0;
  for (const auto& [stack, start] : own.frameworks) {
    const auto found = other.frameworks.find(stack);
    if (found == other.frameworks.end()) continue;
    later += start - found->second;
    ++common;
  }
  return common == 0 ? Seconds(0) : own.library - other.library - later * (1.0 / common);
}

}  // namespace

Seconds host_part(const Bundle& bundle, const Catalog& catalog, const Fabric& fabric) {
  const NetworkConstants constants(bundle);
  const auto own = starts_on(constants, fabric);
  if (!own) return Seconds(0);
  Seconds part;
  for (const std::string& id : catalog.fabric_ids()) {
    const auto other = starts_on(constants, catalog.fabric(id));
    if (other) part = std::max(part, part_beside(*own, *other));
  }
  return part;
}

}  // namespace orrery
