// The kernel that executes one node alone.
#pragma once

#include "orrery/edge/fusion/fused_kernel.h"
#include "orrery/edge/graph/graph.h"

namespace orrery {

EdgeShape edge_shape(const EdgeTensor& tensor);

// `node` is of the graph and no view.
EdgeKernel node_kernel(const EdgeGraph& graph, const EdgeNode& node);

}  // namespace orrery
