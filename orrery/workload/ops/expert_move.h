// A dispatch or combine of experts: the tokens of one rank that travel to the ranks of their
// experts, or back, by DeepEP's kernels.
//
// It has the sizes that decide how many copies of a token cross which wires. The network room turns
// it into a time (ExpertExchange of network/collectives/expert_exchange.h, which has the same
// members).
#pragma once

#include <cstdint>

namespace orrery {

struct ExpertMove {
  bool combine = false;      // else dispatch
  bool low_latency = false;  // else normal
  bool narrow = false;       // dispatch in fp8; else bf16
  std::int64_t tokens = 0;   // of one rank
  int hidden = 0, top_k = 1;
  int most_nodes = 0;              // most nodes with experts of one token; 0: no limit
  int groups = 1, top_groups = 1;  // the router picks experts within top_groups of the groups
  double imbalance = 1;            // load of the busiest rank over the mean
};

}  // namespace orrery
