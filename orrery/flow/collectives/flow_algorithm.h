// The entry of a collective algorithm for the flow level. Each algorithm has a file of its own
// behind this interface (ring.cc, tree.cc, ...). In collective_algorithms.def, FLOW(ring) refers to
// ring_flow.
#pragma once

#include <vector>

#include "orrery/flow/collectives/flow_collectives.h"
#include "orrery/workload/ops/collective_algorithm.h"

namespace orrery {

struct FlowAlgorithmEntry {
  bool (*offers)(Collective::Kind);
  // Appends the messages of one group of two or more ranks, for a buffer of one byte. `chunks`:
  // parts of the buffer, where in_chunks.
  void (*messages)(FlowPattern& pattern, const FlowCollective& collective,
                   const std::vector<int>& ranks, int chunks) = nullptr;
  // Instead of messages: appends collectives of other algorithms, as FlowCollectives::add does.
  std::vector<int> (*compose)(FlowCollectives& collectives, const FlowCollective& collective,
                              int groups, const std::vector<int>& after) = nullptr;
  bool (*in_chunks)(Collective::Kind) = nullptr;  // null: never
  // How many times in sequence the messages run; null: once.
  int (*phases)(Collective::Kind) = nullptr;
  bool needs_runs = false;  // groups are made of runs of `inner` ranks even with one channel
  bool needs_power_of_two = false;  // ranks of a group
};

#define FLOW(name) extern const FlowAlgorithmEntry name##_flow;
#define CURVE(name)
#define TUNER(name)
#define ALGORITHM(value, name, models, doc) models
#include "orrery/workload/ops/collective_algorithms.def"
#undef ALGORITHM
#undef TUNER
#undef CURVE
#undef FLOW

// The algorithm's entry; nullptr: the flow level does not have it.
const FlowAlgorithmEntry* flow_algorithm(CollectiveAlgorithm algorithm);

// Parts of 512 KiB in which `bytes` are passed on: 1 to `most`.
int default_chunks(Bytes bytes, int most);

// Whether a collective is from or to the first rank of its group.
bool is_rooted(Collective::Kind kind);
// Whether a collective is an all-reduce, all-gather or reduce-scatter.
bool reduces_or_gathers(Collective::Kind kind);

// The ranks in runs of `inner`, each beginning with the rank at which `channel` enters it.
std::vector<std::vector<int>> channel_runs(const std::vector<int>& ranks, int inner, int channel);

}  // namespace orrery
