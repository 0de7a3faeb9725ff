// What a collective's question may ask of the flow level: a topology, damage, algorithms, a trace.
// Keys of a scenario's `collective`, beside those of CollectiveQuestion.
//
//   collective: {kind: all-reduce, bytes: 1 GiB, gpus: 64, fidelity: flow, degrade:
//   [gpu3-rail3.leaf0=0.5]} collective: {topology: cluster.yaml, chakra: traces/llama} collective:
//   {topology: hgx.yml, as: astra-sim, bytes: 1 MiB}
#pragma once

#include <string>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/base/fields.h"
#include "orrery/base/units.h"
#include "orrery/hardware/catalog.h"
#include "orrery/scenario/answer.h"
#include "orrery/scenario/sweep.h"
#include "orrery/workload/ops/op.h"

namespace orrery {

struct FlowQuestion {
  // "auto": flow where a topology, a trace, damage or an algorithm of the flow level is asked for.
  std::string fidelity = "auto";
  std::string topology;              // file; empty: of the hardware
  std::vector<std::string> fail;     // links
  std::vector<std::string> degrade;  // "LINK=FACTOR"
  std::string flow_algorithm;        // empty: the fastest
  double efficiency = 1;             // share of the line rate that the stack reaches
  Seconds overhead;                  // software, of every message
  std::string chakra;                // prefix of traces to replay
  std::string chakra_groups;         // file of communicator groups
  std::string as = "orrery";         // "astra-sim": its answer too

  bool asked() const;
};

void declare(Fields& fields, FlowQuestion& question);

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
