// The options of a replay of Chakra traces (chakra_replay.h), which its parts share.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/units.h"
#include "orrery/flow/collectives/flow_collectives.h"
#include "orrery/workload/ops/op.h"

namespace orrery {

struct ChakraReplay {
  int gpus = 1;
  // Sizes of the dimensions that involved_dim counts, the fastest running first; their product is
  // `gpus`.
  std::vector<int> dimensions;
  // By name, the groups of ranks that it stands for.
  std::map<std::string, std::vector<std::vector<int>>> groups;
  CollectiveAlgorithm algorithm =
      CollectiveAlgorithm::kRing;  // of all-reduce, all-gather, reduce-scatter
  int inner = 1, channels = 1;     // FlowCollective; of groups that `inner` divides
  std::optional<FlopsPerSecond> peak;
  std::optional<BytesPerSecond> memory_bandwidth;
  // Where set, collectives take this time on each of their ranks instead of being simulated. The
  // stride is that between the group's first members.
  std::function<Seconds(const Collective&, int stride)> collective_time;
};

}  // namespace orrery
