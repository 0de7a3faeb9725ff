// The machine on which a row of network/measured.csv was measured, as a cluster of the catalog.
//
// `gpu` and `fabric` have the table's spellings. A row within one domain (NVSwitch, NVLink5, NVL72,
// xGMI, PCIe) has the usual node of the GPU. A row on several nodes names the ports of a node:
// "IB_NDR_8x400G", "RoCE_16x100G", "EFA_32x100G", "TCPXO_8x200G", "IB_8xCX7" (400 Gbit/s),
// "2xNVL72+RoCE". If the catalog has no fabric of that speed, the node gets as many ports of the
// nearest fabric as make the same bandwidth. Racks with "IB_XDR" have ConnectX-7 ports of 400
// Gbit/s: their rings reach 8 x 50 GB/s (20 racks: 406 GB/s). Google's RoCE with the gIB plug-in,
// which the table names as the tuning, is "gIB_8x400G".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "orrery/hardware/cluster.h"

namespace orrery {

// The fabric's spelling with regard to the tuning: "RoCE_8x400G" with "gIB" is "gIB_8x400G".
std::string fabric_spelling(std::string_view fabric, std::string_view tuning);

// The id of the node type on which the kernel tables and measured.csv have the GPU's collectives
// within a node: the GPU's usual one, or another where the rows contradict it.
std::string measured_node(const Gpu& gpu);

// The cluster; nothing if the table does not describe the network ("unspecified"). InputError: a
// GPU that is not in the catalog, a fabric that cannot be read, ranks that the nodes do not divide.
std::optional<Cluster> measured_place(const Catalog& catalog, std::string_view gpu, int ranks,
                                      int nodes, std::string_view fabric);

}  // namespace orrery
