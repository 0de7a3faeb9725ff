// The ring: n ranks in a circle, each passing S/n to the next in every step.
#include <algorithm>

#include "orrery/network/algorithms/cost.h"
#include "orrery/network/algorithms/curve_algorithm.h"
#include "orrery/network/algorithms/tuner_algorithm.h"

namespace orrery {

constinit const CurveAlgorithm ring_curve{
    .steps = [](Collective::Kind kind, int ranks) -> double {
      return (kind == Collective::Kind::kAllReduce ? 2 : 1) * (ranks - 1);
    },
    .volume = bus_factor,
    .to_neighbours = true,
};

constinit const TunerAlgorithm ring_tuner{
    .since = {2, 5},
    .why_not_offered = [](const TunerCall&) -> std::string_view { return ""; },
    // Steps within a node are no quicker than the posting of the network's messages.
    .latency =
        [](const TunerCall& call, const StepLatencies& step) {
          const NcclGraph& g = call.graph;
          const double across = ring_steps_across(call);
          const double post = g.amd_cpu ? call.tables().amd_post : call.tables().intel_post;
          const double overhead =
              g.nodes == 1 ? 0 : post * (call.protocol == CollectiveProtocol::kSimple ? 3 : 1);
          return step.base + (ring_steps(call) - across) * std::max(step.intra, overhead) +
                 across * step.inter;
        },
    .bus_bandwidth =
        [](const TunerCall& call) {
          const double bus = channels_bandwidth(call);
          if (call.protocol == CollectiveProtocol::kLl) {
            const bool reduces = call.is_all_reduce() || call.graph.nodes > 1;
            return std::min(ll_limit(call), bus * call.tables().ring_ll_share[reduces ? 0 : 1]);
          }
          if (call.protocol == CollectiveProtocol::kSimple) return bus;
          return std::min(.92 * bus,
                          call.graph.channels *
                              call.tables().ring_ll128[generation_of(call)][nodes_column(call)]);
        },
    .algorithm_share = [](const TunerCall& call) { return call.graph.ranks() / ring_steps(call); },
    .refine =
        [](const TunerCall& call, NcclCost& cost) {
          const NcclGraph& g = call.graph;
          if (!call.is_all_reduce() || call.protocol != CollectiveProtocol::kSimple || g.nodes == 1)
            return;
          const NcclTables& t = call.tables();
          cost.plateau = g.generation == NcclGeneration::kVolta ? t.plateau_volta : t.plateau;
          cost.plateau_from =
              Bytes(t.plateau_bytes * (g.channels * static_cast<double>(g.ranks())));
        },
    .overlap = LatencyOverlap::kRing,
    .simple_only = false,
};

}  // namespace orrery
