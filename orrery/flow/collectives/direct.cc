// The direct exchange: every rank sends S/n to every other one at once. An all-reduce does it in
// two phases, a reduce-scatter and an all-gather. Broadcast and send go from the first rank to all
// others, a reduce from all others to the first.
#include "orrery/flow/collectives/flow_algorithm.h"

namespace orrery {

constinit const FlowAlgorithmEntry direct_flow{
    .offers = [](Collective::Kind) { return true; },
    .messages =
        [](FlowPattern& p, const FlowCollective& c, const std::vector<int>& ranks, int) {
          const std::size_t n = ranks.size();
          if (c.kind == Collective::Kind::kBroadcast || c.kind == Collective::Kind::kSend) {
            for (std::size_t i = 1; i < n; ++i) p.send(ranks[0], ranks[i], Bytes(1));
            return;
          }
          if (c.kind == Collective::Kind::kReduce) {
            for (std::size_t i = 1; i < n; ++i) p.send(ranks[i], ranks[0], Bytes(1));
            return;
          }
          for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t k = 1; k < n; ++k)
              p.send(ranks[i], ranks[(i + k) % n], Bytes(1.0 / static_cast<double>(n)));
          }
        },
    .phases = [](Collective::Kind kind) { return kind == Collective::Kind::kAllReduce ? 2 : 1; },
};

}  // namespace orrery
