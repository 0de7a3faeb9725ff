// The hierarchical algorithm: a reduce-scatter inside each run of `inner` ranks, the same
// collective between the ranks at the same place of every run, an all-gather inside. An all-gather
// has no first phase, a reduce-scatter no last one. All phases are rings. The buffer passes in
// chunks that follow each other.
#include "orrery/flow/collectives/flow_algorithm.h"

namespace orrery {
namespace {

constexpr int kMostHierarchyChunks = 4;

std::vector<int> joined(const std::vector<int>& a, const std::vector<int>& b) {
  std::vector<int> all = a;
  all.insert(all.end(), b.begin(), b.end());
  return all;
}

}  // namespace

constinit const FlowAlgorithmEntry hierarchical_flow{
    .offers = reduces_or_gathers,
    .compose =
        [](FlowCollectives& collectives, const FlowCollective& c, int groups,
           const std::vector<int>& after) {
          const auto [inside, between] = collectives.split(groups, c.inner);
          const int chunks =
              c.chunks > 0 ? c.chunks : default_chunks(c.bytes, kMostHierarchyChunks);
          FlowCollective inner;
          inner.bytes = c.bytes / chunks;
          inner.name = c.name;
          FlowCollective outer = inner;
          outer.kind = c.kind;
          outer.bytes = inner.bytes / c.inner;
          // Each phase of a chunk follows the phase before, and the same phase of the chunk before.
          std::vector<int> scattered, exchanged, gathered;
          for (int k = 0; k < chunks; ++k) {
            std::vector<int> ready = after;
            if (c.kind != Collective::Kind::kAllGather) {
              inner.kind = Collective::Kind::kReduceScatter;
              ready = scattered =
                  collectives.add(inner, inside, scattered.empty() ? after : scattered);
            }
            ready = exchanged = collectives.add(
                outer, between, exchanged.empty() ? ready : joined(ready, exchanged));
            if (c.kind != Collective::Kind::kReduceScatter) {
              inner.kind = Collective::Kind::kAllGather;
              gathered = collectives.add(inner, inside,
                                         gathered.empty() ? ready : joined(ready, gathered));
            }
          }
          return c.kind == Collective::Kind::kReduceScatter ? exchanged : gathered;
        },
    .needs_runs = true,
};

}  // namespace orrery
