// The invariants of every graph that a reader of networks gives.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <vector>

#include "orrery/edge/fusion/fuse.h"
#include "orrery/edge/graph/graph.h"

namespace orrery {

inline void check_edge_graph(const EdgeGraph& graph) {
  const int tensors = static_cast<int>(graph.tensors.size());
  std::vector<bool> written(graph.tensors.size(), false);
  for (const int i : graph.inputs) written.at(static_cast<std::size_t>(i)) = true;
  for (const EdgeNode& n : graph.nodes) {
    if (n.macs < 0 || n.weights < 0 || n.parameters < 0) std::abort();
    for (const int i : n.inputs) {
      // Constants of ncnn are written by no node.
      if (i < 0 || i >= tensors) std::abort();
    }
    for (const int o : n.outputs) {
      if (o < 0 || o >= tensors || written[static_cast<std::size_t>(o)]) std::abort();
      written[static_cast<std::size_t>(o)] = true;
    }
  }
  for (const EdgeTensor& t : graph.tensors) {
    if (t.elements() < 0) std::abort();
  }
  unknown_ops_note(graph);
  for (const FusionRules& rules : fusion_rules()) {
    std::int64_t macs = 0;
    for (const EdgeKernel& k : fuse(graph, rules)) macs += k.macs;
    if (macs != graph.macs()) std::abort();
  }
}

}  // namespace orrery
