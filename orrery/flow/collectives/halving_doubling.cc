// Recursive halving and doubling: a reduce-scatter by log2(n) exchanges of S/2, S/4, ... with
// partners n/2, n/4, ... away; an all-gather the same way back; an all-reduce both. n is a power of
// two (Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in
// MPICH", 2005).
#include <algorithm>

#include "orrery/base/index.h"
#include "orrery/flow/collectives/flow_algorithm.h"

namespace orrery {

constinit const FlowAlgorithmEntry halving_doubling_flow{
    .offers = reduces_or_gathers,
    .messages =
        [](FlowPattern& p, const FlowCollective& c, const std::vector<int>& ranks, int) {
          const int n = static_cast<int>(ranks.size());
          std::vector<std::pair<int, double>> steps;  // distance, share of the buffer
          for (int d = n / 2; d >= 1; d /= 2) steps.emplace_back(d, static_cast<double>(d) / n);
          if (c.kind == Collective::Kind::kAllGather) std::reverse(steps.begin(), steps.end());
          if (c.kind == Collective::Kind::kAllReduce) {
            auto back = steps;
            steps.insert(steps.end(), back.rbegin(), back.rend());
          }
          std::vector<int> sent(ranks.size(), -1), before(ranks.size(), -1);
          int last = 0;  // distance of the step before
          for (const auto& [distance, share] : steps) {
            before = sent;
            for (std::size_t i = 0; i < ranks.size(); ++i) {
              sent[i] = p.send(ranks[i], ranks[i ^ index(distance)], Bytes(share));
              if (last == 0) continue;
              // It follows the messages that came in and went out at the step before.
              p.wait(sent[i], before[i ^ index(last)]);
              p.wait(sent[i], before[i]);
            }
            last = distance;
          }
        },
    .needs_power_of_two = true,
};

}  // namespace orrery
