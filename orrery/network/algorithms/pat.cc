// PAT, parallel aggregated trees: all-gathers and reduce-scatters among nodes with one rank each.
#include "orrery/network/algorithms/tuner_algorithm.h"

namespace orrery {

constinit const TunerAlgorithm pat_tuner{
    .since = {2, 23},
    .why_not_offered = [](const TunerCall& call) -> std::string_view {
      if (!call.is_gather_or_scatter()) return "PAT is for all-gathers and reduce-scatters";
      return call.graph.ranks_per_node == 1 ? "" : "PAT needs one rank a node";
    },
    .latency =
        [](const TunerCall& call, const StepLatencies& step) {
          return step.base + tree_depth(call) * step.inter / 3.5 + 2.8 * call.graph.ranks();
        },
    .bus_bandwidth = [](const TunerCall& call) { return .75 * channels_bandwidth(call); },
    .algorithm_share = [](const TunerCall&) -> double { return 1; },
    .overlap = LatencyOverlap::kAlone,
};

}  // namespace orrery
