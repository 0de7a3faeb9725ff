// Runs of nodes of one type, as a mixed group is written: "8 hgx-h100".
#pragma once

#include <string>
#include <vector>

#include "orrery/flow/topology/topology_build.h"
#include "orrery/hardware/catalog.h"

namespace orrery {

struct NodeRun {
  int count = 1;
  NodeType type;
};

// "8 hgx-h100", "8x hgx-h100" or "hgx-h100": a count and a node of the catalog or a file of one; a
// text may hold several, separated by commas. InputError: a count below 1 or above 100,000, no such
// node.
std::vector<NodeRun> node_runs(const std::vector<std::string>& texts, const Catalog& catalog);

int gpus_of(const std::vector<NodeRun>& runs);

// "8 hgx-h100 + 4 hgx-a100".
std::string to_text(const std::vector<NodeRun>& runs);

// One type of each kind, in the order of first use.
std::vector<NodeType> kinds_of(const std::vector<NodeRun>& runs);

// All ports on one switch; one for each rail where the nodes have as many GPUs and each its port.
ClusterPlan plan_of(const std::vector<NodeRun>& runs, const Catalog& catalog);

}  // namespace orrery
