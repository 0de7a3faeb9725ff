// The nodes that each rank of a pipeline stage executes in an iteration (iteration_trace.h).
#pragma once

#include <vector>

#include "orrery/flow/chakra/chakra.h"
#include "orrery/training/events/iteration_trace.h"
#include "orrery/training/events/pass_nodes.h"

namespace orrery {

// A node of every rank of a stage. Its group and its peer depend on the rank.
struct StageNode {
  ChakraNode node;
  RankGroup group;  // of a collective
  int peer = 0;     // of a message: distance from the rank to the peer
};

struct StageTrace {
  std::vector<StageNode> nodes;
};

// By stage. REQUIRES that the schedule accepts the job.
std::vector<StageTrace> stage_traces(const IterationSource& source);

}  // namespace orrery
