// A cluster with the constants that were measured on its fabrics, and the library that runs there.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orrery/network/algorithms/cost.h"
#include "orrery/network/collectives/judged_time.h"
#include "orrery/network/collectives/nccl_graph.h"
#include "orrery/network/collectives/network_constants.h"
#include "orrery/network/collectives/network_model.h"
#include "orrery/network/collectives/unseen_servers.h"
#include "orrery/network/wires/pcie_rates.h"

namespace orrery {

// Collectives that are sends between single ranks, and for which the library has one algorithm.
inline bool is_point_to_point(Collective::Kind kind) {
  return kind == Collective::Kind::kAllToAll || kind == Collective::Kind::kSend;
}

struct MeasuredCluster {
  // `other_kinds`: the clusters of the other kinds of nodes of a mixed group. `version`: of NCCL,
  // as a user asks for it; empty: the one with whose tables times are predicted.
  MeasuredCluster(const Cluster& cluster, const ParallelPlan& plan, std::string stack,
                  const Bundle& bundle, const std::vector<Cluster>& other_kinds,
                  std::optional<LibraryVersion> version);
  MeasuredCluster(const MeasuredCluster&) = delete;
  MeasuredCluster& operator=(const MeasuredCluster&) = delete;

  const NcclTables& tables;        // with which times are predicted
  const NcclTables& asked_tables;  // of the version that a user asks for; else `tables`
  const Cluster cluster;
  const std::vector<Cluster> other_kinds;
  const RankPlacement placement;
  const std::string stack;
  const std::optional<LibraryVersion> version;
  MeasuredConstants scale_up, bridge, network;
  PcieServer pcie;
  UnseenServers unseen;
  bool other_tree = false;  // the curves of a bus were measured on other GPUs' servers
  FittedAcross inter_node;  // the network's factors, or their substitute
  bool has_inter_node = false;

  bool asks_for_other_version() const { return &asked_tables != &tables; }
  // The links of a group. Stages send along the pipeline.
  GroupLink link_of(const Collective& c, const RankPlacement& p) const;
  // The tuner's view of a group of NCCL in the version that is asked for, with predicted times.
  NcclGraph graph(const GroupLink& link, const ForcedChoice& forced = {}) const {
    return nccl_graph(tables, cluster, link, forced, version);
  }
  const MeasuredConstants& constants_of(const Fabric& fabric) const;
  // Whether the fabric is a bus whose switches and sockets are those of another server.
  bool has_other_tree(const Fabric& fabric) const {
    return other_tree && fabric.kind == FabricKind::kBus;
  }
  Origin origin_of(const MeasuredConstants& known, const Fabric& fabric) const;
  // Where the constants of groups of several nodes come from, and their errors.
  Origin origin_between_nodes() const;
  const PartErrors& errors_between_nodes() const;
  // The bandwidth's bound on the slowest kind of nodes.
  Seconds bound(const Collective& c, const GroupLink& link, const RankPlacement& p,
                bool collnet) const;
  // Marks the time of a curve with rows of `versions` as transferred if another version was asked
  // for.
  void judge_version(const std::vector<std::string>& versions, Bytes bytes,
                     JudgedTime& judged) const;
};

}  // namespace orrery
