// Where a row of data/network/measured.csv was measured, as a machine of the catalog.
//
// `gpu` and `fabric` are the table's spellings. Inside one domain (NVSwitch, NVLink5, NVL72, xGMI,
// PCIe) it is the GPU's usual node; several nodes take the named ports: "IB_NDR_8x400G",
// "RoCE_16x100G", "EFA_32x100G", "TCPXO_8x200G", "IB_8xCX7" (400 Gbit/s), "2xNVL72+RoCE". A fabric
// of another speed takes as many ports of the nearest one as make the same bandwidth. Racks with
// "IB_XDR" have ConnectX-7 ports of 400 Gbit/s: their rings reach 8 x 50 GB/s (20 racks: 406 GB/s).
// Google's RoCE with its gIB plugin, which the table names as the tuning, is spelt "gIB_8x400G".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "orrery/hardware/cluster.h"

namespace orrery {

// "RoCE_8x400G" with the tuning "gIB" is "gIB_8x400G"; others stay as they are.
std::string fabric_spelling(std::string_view fabric, std::string_view tuning);

// Nothing where the table does not describe the network ("unspecified"). InputError: a GPU that the
// catalog does not know, a fabric that cannot be read, ranks that the nodes do not divide.
std::optional<Cluster> measured_place(const Catalog& catalog, std::string_view gpu, int ranks,
                                      int nodes, std::string_view fabric);

}  // namespace orrery
