// The answer to a question at flow level (flow_question.h): collectives whose transfers share the
// links of a topology, and recorded Chakra traces.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/question/flow_question.h"
#include "orrery/scenario/setup/facts.h"
#include "orrery/workload/ops/op.h"

namespace orrery {

// The keys of the scenario that a question at flow level shares with other collectives.
struct FlowContext {
  Collective::Kind kind = Collective::Kind::kAllReduce;
  std::int64_t bytes = 0, gpus = 0;
  bool all_gpus = false;  // no number was given: all of the topology
  int stride = 1;
  std::string stack;               // of the analytical fidelity, for traces
  std::string gpu, node;           // hardware; both may be empty with a topology or nodes
  std::vector<std::string> nodes;  // that differ (node_runs.h), in place of the hardware
};

// One point; two with `as`, the first of them ASTRA-sim's. InputError as of read_topology,
// read_chakra, FlowCollectives and simulate_flows.
std::vector<Point> answer_flow(Facts& facts, const FlowQuestion& question,
                               const FlowContext& context);

}  // namespace orrery
