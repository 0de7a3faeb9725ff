#include "orrery/network/collectives/measured_cluster.h"

#include <algorithm>
#include <utility>

namespace orrery {
namespace {

// Errors across nodes on a network without a file or substitute: about those of the fit on networks
// that it has not used (start_elsewhere 0.95 and width_elsewhere 0.34 in catalog/network).
constexpr PartErrors kUnknownNetwork{0.95, 0.35, 0};

// The tables of a cluster. A lone GPU has no collectives, and its files are not read.
const NcclTables& tables_of(const Cluster& cluster, const Bundle& bundle) {
  static const NcclTables none{};
  return cluster.gpus() > 1 ? nccl_tables(bundle) : none;
}

}  // namespace

MeasuredCluster::MeasuredCluster(const Cluster& of, const ParallelPlan& plan, std::string with,
                                 const Bundle& bundle, const std::vector<Cluster>& others,
                                 std::optional<LibraryVersion> asked)
    : tables(tables_of(of, bundle)),
      asked_tables(asked ? nccl_tables(bundle, *asked) : tables),
      cluster(of),
      other_kinds(others),
      placement(orrery::placement(plan)),
      stack(std::move(with)),
      version(asked),
      pcie(cluster) {
  if (cluster.gpus() == 1) return;
  unseen = read_unseen_servers(bundle);
  const NetworkConstants constants(bundle);
  if (cluster.scale_up() != nullptr) scale_up = constants.of(*cluster.scale_up());
  other_tree = !scale_up.constants.was_measured_on(cluster.gpu().id);
  if (cluster.bridge() != nullptr) bridge = constants.of(*cluster.bridge());
  if (cluster.network() != nullptr) network = constants.of(*cluster.network());
  inter_node.elsewhere = kUnknownNetwork;
  if (const FittedAcross* a = network.constants.across_of(cluster.gpu().id)) {
    inter_node = *a;
    has_inter_node = true;
    // The factors were fitted on GPUs of NVIDIA, or are those of most networks.
    if (a->rows == 0 || (a->gpus.empty() && cluster.gpu().vendor != "nvidia"))
      network.origin = std::max(network.origin, Origin::kTransferred);
  }
}

GroupLink MeasuredCluster::link_of(const Collective& c, const RankPlacement& p) const {
  const bool stages = c.group == Collective::Group::kPipeline && c.kind == Collective::Kind::kSend;
  return cluster.link(stages ? std::max(p.stages, 2) : c.ranks, stride_of(c, p));
}

const MeasuredConstants& MeasuredCluster::constants_of(const Fabric& fabric) const {
  if (&fabric == cluster.network()) return network;
  return &fabric == cluster.bridge() ? bridge : scale_up;
}

Origin MeasuredCluster::origin_of(const MeasuredConstants& known, const Fabric& fabric) const {
  return has_other_tree(fabric) ? std::max(known.origin, Origin::kTransferred) : known.origin;
}

Origin MeasuredCluster::origin_between_nodes() const {
  return has_inter_node ? network.origin : Origin::kAnalytical;
}

const PartErrors& MeasuredCluster::errors_between_nodes() const {
  return origin_between_nodes() >= Origin::kTransferred ? inter_node.elsewhere : inter_node.errors;
}

Seconds MeasuredCluster::bound(const Collective& c, const GroupLink& link, const RankPlacement& p,
                               bool collnet) const {
  Seconds bound = bisection_bound(cluster, link, c.kind, c.bytes, collnet);
  for (const Cluster& other : other_kinds) {
    const GroupLink theirs = other.link(c.ranks, stride_of(c, p));
    bound = std::max(bound, bisection_bound(other, theirs, c.kind, c.bytes, collnet));
  }
  return bound;
}

// Versions differ like GPUs that were not measured on a fabric: kernels, channels and thresholds of
// the library are others, the wires are the same.
void MeasuredCluster::judge_version(const std::vector<std::string>& versions, Bytes bytes,
                                    JudgedTime& judged) const {
  if (!version || was_measured_with(versions, *version)) return;
  judged.other_versions = &versions;
  judged.shared = root_of_squares(judged.shared.value_or(kMachineShared),
                                  unseen.same_fabric[size_class(bytes)]);
  judged.weaken(Origin::kTransferred);
}

}  // namespace orrery
