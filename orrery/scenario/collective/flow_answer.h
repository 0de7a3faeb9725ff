// The answer to a question at flow level (flow_question.h): collectives whose transfers share the
// links of a topology, and recorded Chakra traces.
#pragma once

#include <string>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/question/flow_question.h"
#include "orrery/scenario/question/sweep.h"
#include "orrery/workload/ops/op.h"

namespace orrery {

// Where the question stands: the other keys of the scenario.
struct FlowContext {
  Collective::Kind kind = Collective::Kind::kAllReduce;
  Sweep bytes, gpus;
  bool all_gpus = false;  // no number was given: all of the topology
  int stride = 1;
  std::string stack;               // of the analytical fidelity, for traces
  std::string gpu, node;           // hardware; both may be empty with a topology or nodes
  std::vector<std::string> nodes;  // that differ (node_runs.h), in place of the hardware
};

// A point for each size of group and message; one for a trace; two with `as`. InputError as of
// read_topology, read_chakra, FlowCollectives and simulate_flows.
std::vector<Point> answer_flows(const FlowQuestion& question, const FlowContext& context,
                                const Bundle& bundle);

}  // namespace orrery
