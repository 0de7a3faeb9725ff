// The name by which a scenario asks for the node of a measured row.
#pragma once

#include <optional>
#include <string>

#include "orrery/hardware/catalog.h"

namespace orrery {

// The value of `hardware.node` that means `node` for this GPU: empty where it is the usual one of
// the GPU. Nothing if no file of the catalog describes the node. `job`: the number of GPUs of a job
// that takes segments of racks (in_segments); 0 if `node` is whole.
std::optional<std::string> node_name(const Catalog& catalog, const Gpu& gpu, const NodeType& node,
                                     int job = 0);

}  // namespace orrery
