// Runs of nodes of one type, of which the text of a mixed group consists: "8 hgx-h100".
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

// Parses texts such as "8 hgx-h100", "8x hgx-h100" or "hgx-h100": a count, and a node of the
// catalog or the path of a file. A text may have several runs, separated by commas. InputError: a
// count below 1 or above 100,000, or no such node.
std::vector<NodeRun> node_runs(const std::vector<std::string>& texts, const Catalog& catalog);

int gpus_of(const std::vector<NodeRun>& runs);

// The runs as text: "8 hgx-h100 + 4 hgx-a100".
std::string to_text(const std::vector<NodeRun>& runs);

// Each node type once, in the order of first use.
std::vector<NodeType> kinds_of(const std::vector<NodeRun>& runs);

// The plan of the cluster: all ports on one switch, or one switch for each rail if all nodes have
// the same number of GPUs and a port for each.
ClusterPlan plan_of(const std::vector<NodeRun>& runs, const Catalog& catalog);

}  // namespace orrery
