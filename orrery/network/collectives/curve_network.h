// The network model that make_network_model returns: fitted curves within a node (cost.h), the
// library's tuner with fitted factors between nodes (library_curve.h).
#pragma once

#include <array>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "orrery/network/algorithms/cost.h"
#include "orrery/network/collectives/library_curve.h"
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

class CurveNetwork final : public NetworkModel {
 public:
  CurveNetwork(const Cluster& cluster, const ParallelPlan& plan, std::string stack,
               const Bundle& bundle, const std::vector<Cluster>& other_kinds,
               std::optional<LibraryVersion> version);
  CurveNetwork(const CurveNetwork&) = delete;
  CurveNetwork& operator=(const CurveNetwork&) = delete;

  CollectiveTime predict(const Collective& c) const override { return timed(c, {}, placement_); }
  CollectiveTime predict(const Collective& c, const RankPlacement& p) const override {
    return timed(c, {}, p);
  }
  CollectiveTime predict(const Collective& c, const ForcedChoice& forced) const override;
  CollectiveTime exchange(const ExpertExchange& x, Collective::Group group,
                          int ranks) const override {
    return exchange(x, group, ranks, placement_);
  }
  CollectiveTime exchange(const ExpertExchange& x, Collective::Group group, int ranks,
                          const RankPlacement& p) const override;
  CollectiveChoice choice(const Collective& c, const ForcedChoice& forced) const override;
  Seconds bound(const Collective& c, const ForcedChoice& forced) const override;
  std::string provenance(const Collective& c) const override;

 private:
  // The tuner's view of one kind of collective on a group.
  struct TunerInputs {
    NcclGraph graph;
    NcclCosts costs;
    GroupLink
        within;  // of the group's ranks in one node, if it has others elsewhere; else no fabric
  };
  static constexpr std::size_t kKinds = 7;
  // The inputs of a group of the plan, worked out once.
  struct GroupRoute {
    int ranks = 0, stride = 0;
    std::array<TunerInputs, kKinds> kinds{};  // by Collective::Kind
  };
  struct Choice {
    CurveTime time;
    std::optional<CollectiveAlgorithm> algorithm;  // empty: the library's own choice
    double error = 0;                              // relative, of a single size
    Origin origin = Origin::kAnalytical;
    // If given, this and `error` are the whole uncertainty, whatever the origin.
    std::optional<double> shared{};
    int most_ranks = 0;  // of the largest measured group of such sizes; 0: not known
    // The versions of the rows, if another one was asked for; else nullptr.
    const std::vector<std::string>* other_versions = nullptr;
  };

  GroupLink group_link(const Collective& c, const RankPlacement& p) const;
  TunerInputs tuner_inputs(int ranks, int stride, Collective::Kind kind,
                           const ForcedChoice& forced = {}) const;
  GroupRoute route(int ranks, int stride) const;
  // The inputs of a group of the plan if it is one, of another one if they are remembered, else
  // made in `scratch`.
  const TunerInputs& tuner_inputs_of(const Collective& c, const RankPlacement& p,
                                     const ForcedChoice& forced,
                                     std::optional<TunerInputs>& scratch) const;
  // The costs by which the asked version of NCCL chooses; `inputs`' own if none was asked for.
  NcclCosts asked_costs(const Collective& c, const RankPlacement& p, const ForcedChoice& forced,
                        const TunerInputs& inputs) const;
  // The algorithm that the asked version of NCCL chooses, if it is another one than that of the
  // version with whose tables times are predicted; else nothing.
  std::optional<CollectiveAlgorithm> choice_of_version(const Collective& c,
                                                       const RankPlacement& p) const;
  // InputError: the forced pair is not offered.
  NcclChoice checked_choice(const Collective& c, const ForcedChoice& forced) const;
  Seconds bound_of(const Collective& c, const GroupLink& link, const RankPlacement& p,
                   bool collnet) const;
  const MeasuredConstants& constants_of(const Fabric& fabric) const;
  bool has_other_tree(const Fabric& fabric) const {
    return other_tree_ && fabric.kind == FabricKind::kBus;
  }
  Origin origin_of(const MeasuredConstants& known, const Fabric& fabric) const {
    return has_other_tree(fabric) ? std::max(known.origin, Origin::kTransferred) : known.origin;
  }

  // REQUIRES that the pair is offered.
  CollectiveTime timed(const Collective& c, const ForcedChoice& forced,
                       const RankPlacement& p) const;
  // Within one fabric.
  Choice inside(const Collective& c, const GroupLink& link, int ranks, std::string_view stack,
                const ForcedChoice& forced) const;
  Choice between_nodes(const Collective& c, const GroupLink& link, const RankPlacement& p,
                       const ForcedChoice& forced) const;
  // Marks the time of a curve with rows of `versions` as transferred if another one was asked for.
  void judge_version(const std::vector<std::string>& versions, Bytes bytes, Choice& choice) const;
  // The time of a forced reduction in the switch that is too short for the fitted curve.
  void start_of_switch(const Collective& c, const GroupLink& link, Seconds free,
                       const ForcedChoice& forced, Choice& choice) const;
  // Puts the time of a small message in a domain that is larger than any measured one between that
  // of the curve and that of a reduction in the domain's switches.
  void count_switches(const Collective& c, const GroupLink& link, Choice& choice) const;
  // Limits a time within a domain that is larger than any measured one by that of two such domains
  // over a network that was measured.
  void limit_by_two_domains(const Collective& c, Choice& choice) const;
  // Gives a send on wires that nobody measured the start of the measured sends.
  void start_of_pair(const FittedCurve& send, const Fabric& fabric, const MeasuredConstants& known,
                     Choice& choice) const;
  // Lengthens the transfer by what the uplinks of leaf switches carry less than its ports
  // (uplinks.h).
  void wait_for_uplinks(double factor, Choice& choice) const;
  // Adds the wait for the other ranks' launches (stack `pytorch-loop`).
  static void wait_for_ranks(const Collective& c, Choice& choice);
  static Estimate<Seconds> estimate(const Choice& choice);

  const NcclTables& tables_;        // with which times are predicted
  const NcclTables& asked_tables_;  // of the version that a user asks for; else tables_
  Cluster cluster_;
  std::vector<Cluster> other_kinds_;  // of nodes, in a mixed group
  RankPlacement placement_;
  std::string stack_;
  std::optional<LibraryVersion> version_;
  MeasuredConstants scale_up_, bridge_, network_;
  PcieServer pcie_;
  UnseenServers unseen_;
  bool other_tree_ = false;  // the curves of a bus were measured on other GPUs' servers
  FittedAcross inter_node_;  // the network's factors, or their substitute
  bool has_inter_node_ = false;
  std::vector<GroupRoute> routes_;
  // Inputs of other groups, by ranks, stride and kind. A search over layouts asks for a few again
  // and again. They stay where they are, and there are kMostRemembered at most.
  static constexpr std::size_t kMostRemembered = 4096;
  mutable std::mutex remembering_;
  mutable std::map<std::array<int, 3>, TunerInputs> remembered_;
  CostCurve unknown_;  // of a fabric without a file or substitute
};

}  // namespace orrery
