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
  // Sizes of the dimensions to which involved_dim refers, the fastest running first. Their product
  // is `gpus`.
  std::vector<int> dimensions;
  // The groups of ranks that a name (pg_name) denotes.
  std::map<std::string, std::vector<std::vector<int>>> groups;
  CollectiveAlgorithm algorithm =
      CollectiveAlgorithm::kRing;  // of all-reduces, all-gathers, reduce-scatters
  // GPUs of a node, of which the members of a group are neighbours in it, and the most channels of
  // rings and trees (FlowCollective): one for each member in a node, such as four for every second
  // GPU of eight.
  int inner = 1, channels = 1;
  std::optional<FlopsPerSecond> peak;
  std::optional<BytesPerSecond> memory_bandwidth;
  // If set, a collective takes this time on each of its ranks instead of being simulated. The
  // stride is the distance between the first two members of the group.
  std::function<Seconds(const Collective&, int stride)> collective_time;
};

}  // namespace orrery
