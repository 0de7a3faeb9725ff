// The keys of a scenario's `collective` that are for the flow level: a topology, damage, algorithms
// and a trace. CollectiveQuestion has the other keys.
//
//   collective: {kind: all-reduce, bytes: 1 GiB, gpus: 64, degrade: [gpu3-rail3.leaf0=0.5]}
//   collective: {topology: cluster.yaml, chakra: traces/llama}
//   collective: {topology: hgx.yml, as: astra-sim, bytes: 1 MiB}
#pragma once

#include <string>
#include <vector>

#include "orrery/base/fields.h"
#include "orrery/base/units.h"

namespace orrery {

struct FlowQuestion {
  // "auto" is the flow level if the question has a topology, a trace, damage or an algorithm of the
  // flow level.
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

}  // namespace orrery
