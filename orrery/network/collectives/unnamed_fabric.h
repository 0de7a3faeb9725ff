// The network of a cluster whose question does not say what connects its nodes.
//
// The usual fabric of the GPU is taken, and times between nodes are as uncertain as fabrics differ.
// Measured all-reduces of 16 KiB over two nodes of eight GPUs take 51 us on InfiniBand (H100), 54
// us on RoCE (H200), 94 us on EFA and 139 us on TCPXO (H100): a standard deviation of 0.47 of the
// logarithm (data/network/measured.csv; docs/data.md).
#pragma once

#include <memory>

#include "orrery/network/collectives/network_model.h"

namespace orrery {

std::unique_ptr<NetworkModel> on_unnamed_fabric(std::unique_ptr<NetworkModel> usual);

}  // namespace orrery
