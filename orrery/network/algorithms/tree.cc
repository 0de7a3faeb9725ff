// Two binary trees over the nodes, each with half of the buffer, and a chain in every node.
#include <algorithm>

#include "orrery/base/index.h"
#include "orrery/network/algorithms/tuner_algorithm.h"

namespace orrery {

constinit const TunerAlgorithm tree_tuner{
    .since = {2, 5},
    .why_not_offered = [](const TunerCall& call) -> std::string_view {
      return call.is_all_reduce() ? "" : "trees are for all-reduces";
    },
    .latency =
        [](const TunerCall& call, const StepLatencies& step) {
          return step.base +
                 2 * ((call.graph.ranks_per_node - 1) * step.intra + tree_depth(call) * step.inter);
        },
    .bus_bandwidth =
        [](const TunerCall& call) {
          const NcclTables& t = call.tables();
          const NcclGraph& g = call.graph;
          const std::size_t generation = generation_of(call), nodes = nodes_column(call);
          const double channels = g.channels;
          const double bus =
              channels * ((g.nodes <= 2 ? std::max(g.intra, g.tree) : g.inter).value() / 1e9);
          const double tree = std::min(.92 * bus, channels * t.tree[generation][nodes]);
          if (call.protocol == CollectiveProtocol::kLl) return std::min(tree / 3.8, ll_limit(call));
          if (call.protocol == CollectiveProtocol::kSimple) return tree;
          return std::min(tree * (g.nodes == 1 ? 7.0 / 9 : 120.0 / 128),
                          channels * t.tree_ll128[generation][nodes]);
        },
    .algorithm_share = [](const TunerCall& call) { return call.is_all_reduce() ? .5 : 1; },
    .refine =
        [](const TunerCall& call, NcclCost& cost) {
          if (call.is_all_reduce())
            cost.by_size = &call.tables().tree_correction[index(call.protocol)];
        },
    .simple_only = false,
};

}  // namespace orrery
