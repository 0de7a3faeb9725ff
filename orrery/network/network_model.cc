#include "orrery/network/network_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "orrery/base/error.h"
#include "orrery/network/cost.h"
#include "orrery/network/network_constants.h"

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

// Cards without peer-to-peer copies write to host memory and read back: half of the bandwidth.
constexpr double kThroughHost = 0.5;

class CurveNetwork final : public NetworkModel {
 public:
  CurveNetwork(const Cluster& cluster, const ParallelPlan& plan, std::string stack,
               const Bundle& bundle)
      : cluster_(cluster), plan_(plan), stack_(std::move(stack)) {
    const NetworkConstants constants(bundle);
    if (cluster_.scale_up() != nullptr) scale_up_ = constants.of(*cluster_.scale_up());
    if (cluster_.bridge() != nullptr) bridge_ = constants.of(*cluster_.bridge());
    if (cluster_.network() != nullptr) network_ = constants.of(*cluster_.network());
    unknown_.latency = kUnknownLatency;
    unknown_.step = kUnknownStep;
    unknown_.efficiency.fill(kUnknownEfficiency);
  }
  CurveNetwork(const CurveNetwork&) = delete;
  CurveNetwork& operator=(const CurveNetwork&) = delete;

  CollectiveTime predict(const Collective& c) const override {
    CollectiveTime result{{}, "none", CollectiveBound::kLatency, {}};
    if (c.ranks <= 1 || c.bytes <= Bytes(0)) return result;
    const int stride = group_stride(c);
    const GroupLink link = group_link(c, stride);
    const Choice choice =
        link.nodes > 1 ? across_nodes(c, link, stride) : inside(c, link, c.ranks, stack_);
    result.algorithm = to_text(choice.algorithm);
    result.bound = choice.time.latency > choice.time.transfer ? CollectiveBound::kLatency
                                                              : CollectiveBound::kBandwidth;
    result.time = estimate(choice);
    result.bus_bandwidth = c.bytes * bus_factor(c.kind, c.ranks) / choice.time.total;
    return result;
  }

  std::string provenance(const Collective& c) const override {
    if (c.ranks <= 1) return "one rank: nothing to send";
    const GroupLink link = group_link(c, group_stride(c));
    const NetworkConstants::Found& known = constants_of(*link.fabric);
    const std::string text = fmt::format("{} on {}", stack_, link.fabric->id);
    if (known.constants.curves.empty())
      return text + ", data-sheet bandwidth at assumed efficiency";
    return fmt::format("{}, {} on {}", text,
                       known.origin == Origin::kTransferred ? "transferred from" : "measured",
                       known.constants.measured_on);
  }

 private:
  struct Choice {
    CurveTime time;
    CollectiveAlgorithm algorithm = CollectiveAlgorithm::kRing;
    double error = 0;
    Origin origin = Origin::kAnalytical;
  };

  // Distance between neighbours of a group; ranks are ordered tp, pp, dp from the fastest running.
  int group_stride(const Collective& c) const {
    switch (c.group) {
      case Collective::Group::kTensor:
        return 1;
      case Collective::Group::kPipeline:
        return plan_.tp;
      case Collective::Group::kData:
        return plan_.tp * plan_.pp;
      case Collective::Group::kExpert:
        // Experts are shared by the tp * dp ranks of a stage; beyond tp the stages stand between
        // them.
        return c.ranks > plan_.tp ? plan_.pp : 1;
    }
    return 1;
  }

  // A message between neighbouring stages is as slow as the slowest one: some pair may be in two
  // nodes.
  GroupLink group_link(const Collective& c, int stride) const {
    const bool stages =
        c.group == Collective::Group::kPipeline && c.kind == Collective::Kind::kSend;
    return cluster_.link(stages ? std::max(plan_.pp, 2) : c.ranks, stride);
  }

  const NetworkConstants::Found& constants_of(const Fabric& fabric) const {
    if (&fabric == cluster_.network()) return network_;
    return &fabric == cluster_.bridge() ? bridge_ : scale_up_;
  }

  // On one fabric.
  Choice inside(const Collective& c, const GroupLink& link, int ranks,
                std::string_view stack) const {
    const NetworkConstants::Found& known = constants_of(*link.fabric);
    BytesPerSecond bandwidth = link.bandwidth;
    if (!link.fabric->peer_to_peer && known.origin >= Origin::kTransferred)
      bandwidth *= kThroughHost;
    const CurveChoice best =
        fastest(known.constants.curves, stack, *link.fabric, c.kind, ranks, c.bytes, bandwidth);
    if (best.curve != nullptr) {
      return {best.time, best.algorithm, best.curve->left_out_error, known.origin};
    }
    const bool direct = c.kind == Collective::Kind::kAllToAll || c.kind == Collective::Kind::kSend;
    const auto algorithm = direct ? CollectiveAlgorithm::kDirect : CollectiveAlgorithm::kRing;
    return {curve_time(unknown_, c.kind, algorithm, ranks, c.bytes, bandwidth), algorithm, 0,
            Origin::kAnalytical};
  }

  Choice across_nodes(const Collective& c, const GroupLink& link, int stride) const {
    const NetworkConstants::Found& known = constants_of(*link.fabric);
    const FittedCurve* fitted = hierarchical_curve(known.constants.curves, c.kind);
    Choice choice{{},
                  CollectiveAlgorithm::kHierarchical,
                  fitted == nullptr ? 0 : fitted->left_out_error,
                  fitted == nullptr ? Origin::kAnalytical : known.origin};
    Seconds local;
    if (link.ranks_per_node > 1 && c.kind != Collective::Kind::kSend) {
      Collective within = c;
      // Of an all-to-all only the part for the node's own ranks stays inside.
      if (c.kind == Collective::Kind::kAllToAll) within.bytes = c.bytes / link.nodes;
      const Choice inner = inside(within, cluster_.link(link.ranks_per_node, stride),
                                  link.ranks_per_node, "library");
      local = inner.time.transfer;
      choice.error = std::hypot(choice.error, inner.error);
      choice.origin = std::max(choice.origin, inner.origin);
    }
    choice.time =
        hierarchical_time(fitted == nullptr ? unknown_ : fitted->curve, c.kind, link.nodes,
                          link.ranks_per_node, c.bytes, link.bandwidth, local);
    return choice;
  }

  static Estimate<Seconds> estimate(const Choice& choice) {
    Estimate<Seconds> e{choice.time.total, kMeasuredShared, choice.error, choice.origin};
    if (choice.origin == Origin::kTransferred) {
      e.shared = kTransferredShared;
      e.own = std::hypot(choice.error, kTransferredOwn);
    } else if (choice.origin == Origin::kAnalytical) {
      e.shared = kAnalyticalShared;
      e.own = std::hypot(choice.error, kAnalyticalOwn);
    }
    return e;
  }

  Cluster cluster_;
  ParallelPlan plan_;
  std::string stack_;
  NetworkConstants::Found scale_up_, bridge_, network_;
  CostCurve unknown_;
};

}  // namespace

std::string_view to_text(CollectiveBound bound) {
  return bound == CollectiveBound::kLatency ? "latency" : "bandwidth";
}

std::unique_ptr<NetworkModel> make_network_model(const Cluster& cluster, const ParallelPlan& plan,
                                                 std::string_view stack, const Bundle& bundle) {
  static const std::vector<std::string> stacks = {"vllm", "trtllm", "sglang", "nccl", "rccl"};
  const std::string name = canonical_name(stack);
  if (std::find(stacks.begin(), stacks.end(), name) == stacks.end()) {
    throw InputError(
        fmt::format("unknown communication stack '{}'{}; known: vllm, trtllm, sglang, nccl, rccl",
                    stack, did_you_mean(stack, stacks)));
  }
  if (plan.devices() > cluster.gpus()) {
    throw Infeasible(
        fmt::format("the plan needs {} GPUs (tp {} x pp {} x dp {}), the cluster has {}",
                    plan.devices(), plan.tp, plan.pp, plan.dp, cluster.gpus()));
  }
  return std::make_unique<CurveNetwork>(cluster, plan, name, bundle);
}

}  // namespace orrery
