// CollNetDirect and CollNetChain: the network's switches reduce (SHARP). NCCL offers them only
// where NCCL_COLLNET_ENABLE is set.
#include <algorithm>

#include "orrery/network/algorithms/tuner_algorithm.h"

namespace orrery {

namespace {

std::string_view why_no_collnet(const TunerCall& call, bool gathers) {
  if (!call.is_all_reduce() && !(call.is_gather_or_scatter() && gathers))
    return "CollNet is for all-reduces";
  if (call.graph.nodes == 1) return "CollNet is for several nodes";
  return call.graph.collnet ? "" : "CollNet needs a network whose switches reduce";
}

double collnet_latency(const TunerCall& call, const StepLatencies& step) {
  const int others = call.graph.ranks_per_node - 1;
  return 2 * (std::min(1, others) * step.intra + .4 * others) + step.inter;
}

// A message passes each port once each way.
double whole_bus(const TunerCall&) { return 1; }

}  // namespace

constinit const TunerAlgorithm collnet_direct_tuner{
    .since = {2, 14},
    .why_not_offered = [](const TunerCall& call) { return why_no_collnet(call, true); },
    .latency = collnet_latency,
    .bus_bandwidth = channels_bandwidth,
    .algorithm_share = whole_bus,
    .collnet = true,
};

constinit const TunerAlgorithm collnet_chain_tuner{
    .since = {2, 14},
    .why_not_offered = [](const TunerCall& call) { return why_no_collnet(call, false); },
    .latency = collnet_latency,
    .bus_bandwidth = channels_bandwidth,
    .algorithm_share = whole_bus,
    .collnet = true,
};

}  // namespace orrery
