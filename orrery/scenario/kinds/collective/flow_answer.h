// The answer to a question at flow level (flow_question.h): collectives whose transfers share the
// links of a topology, and recorded Chakra traces.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/kinds/collective/flow_question.h"
#include "orrery/scenario/setup/facts.h"
#include "orrery/workload/ops/op.h"

namespace orrery {

// The keys of a scenario that a question at flow level has in common with other collectives.
struct FlowContext {
  Collective::Kind kind = Collective::Kind::kAllReduce;
  std::int64_t bytes = 0, gpus = 0;
  bool all_gpus = false;  // no number was given: all of the topology
  int stride = 1;
  std::string stack;               // of the analytical fidelity, for traces (library_of)
  std::string gpu, node;           // hardware; both may be empty with a topology or nodes
  std::vector<std::string> nodes;  // that differ (node_runs.h), in place of the hardware
};

// Returns one point, or two with `as`, of which the first is ASTRA-sim's. Throws InputError as
// read_topology, read_chakra, FlowCollectives and simulate_flows do.
std::vector<Point> answer_flow(Facts& facts, const FlowQuestion& question,
                               const FlowContext& context);

}  // namespace orrery
