#include <algorithm>
#include <cmath>

#include "orrery/network/collectives/curve_network.h"

namespace orrery {
namespace {

// NCCL's estimate of a reduction in the switch, as of other pairs without a curve.
constexpr LibraryCurve kSwitches{1.2, 0.97, 0.3};

}  // namespace

// The curve is that of a ring of eight GPUs, whose steps grow with the ranks: 126 of them among 64
// GPUs. The library has a reduction in the domain's switches besides, whose latency it estimates to
// be the same for any number of GPUs. No public measurement tells which of the two runs, and how
// late. The start of a message is therefore the geometric mean of both, and the interval reaches
// from the one to the other. For 32 GPUs of a GB200 rack that is 50 us, where NVIDIA's factor of
// 7.6 to 9 over kernels of 6.3 us gives 48 to 57
// (https://developer.nvidia.com/blog/enabling-fast-inference-and-resilient-training-with-nccl-2-27,
// https://github.com/NVIDIA/nccl-tests/issues/333). The time of a message
// whose transfer is a part of it lies nearer to the curve.
void CurveNetwork::count_switches(const Collective& c, const GroupLink& link,
                                  Choice& choice) const {
  using Kind = Collective::Kind;
  if (c.kind != Kind::kAllReduce && c.kind != Kind::kAllGather && c.kind != Kind::kReduceScatter)
    return;  // no other collective is reduced or copied in a switch
  const ForcedChoice in_switch{CollectiveAlgorithm::kNvls, {}};
  const NcclCosts costs = nccl_costs(nccl_graph(tables_, cluster_, link, {}, version_), c.kind);
  if (!nccl_choose(costs, c.bytes, in_switch)) return;
  const Seconds switches = library_time(kSwitches, costs, c.bytes,
                                        bisection_bound(cluster_, link, c.kind, c.bytes), in_switch)
                               .total;
  CurveTime& chain = choice.time;
  const double ahead = std::log(chain.total / switches);
  if (ahead <= 0) return;
  const double half = ahead / 2 * (chain.latency / chain.total);
  const double factor = std::exp(-half);
  chain.total *= factor, chain.latency *= factor, chain.transfer *= factor;
  choice.shared = root_of_squares(choice.shared.value_or(0), half / heavy_quantile(0.95));
}

// The two domains are a group of twice the ranks over the network. Its factors were measured with
// such domains if they belong to a class of GPUs of their own. One domain takes part in the group,
// so that it is not the slower one, and the upper end of its interval is not above the other's.
void CurveNetwork::limit_by_two_domains(const Collective& c, Choice& choice) const {
  if (c.kind != Collective::Kind::kAllReduce || cluster_.scale_up()->kind != FabricKind::kSwitch)
    return;
  const bool measured = has_inter_node_ && inter_node_.rows > 0 && !inter_node_.gpus.empty() &&
                        network_.origin < Origin::kTransferred;
  if (!measured) return;
  if (2 * c.ranks > inter_node_.most_ranks) return;
  const GroupLink link{cluster_.network(), cluster_.network_per_gpu(), c.ranks, 2, 1};
  const NcclGraph graph = nccl_graph(tables_, cluster_, link, {}, version_);
  Choice both;
  both.time = library_time(inter_node_.curve, nccl_costs(graph, c.kind), c.bytes,
                           bisection_bound(cluster_, link, c.kind, c.bytes));
  both.shared = inter_node_.errors.parts(both.time);
  both.error = inter_node_.errors.curve;
  const double ahead = std::log(both.time.total / choice.time.total);
  if (ahead < 0) {
    choice.time.total = both.time.total;
    choice.time.latency = std::min(choice.time.latency, both.time.total);
    choice.time.transfer = std::min(choice.time.transfer, both.time.total);
  }
  const double reach = estimate(both).sigma() + std::max(0.0, ahead) / heavy_quantile(0.95);
  if (reach < estimate(choice).sigma()) choice.shared = reach, choice.error = 0;
}

}  // namespace orrery
