// Racks of trays (72 GPUs in one NVLink domain) that a job fills in part. Schedulers give a job
// equal segments of as many racks, so that groups of powers of two stay inside one rack: 16 of the
// 18 trays in NVIDIA's recipes for GB200 NVL72.
#pragma once

#include "orrery/hardware/catalog.h"

namespace orrery {

// The part of `node` that a job of `gpus` GPUs uses. If the job fills more than one rack of several
// hosts, it is the largest whole number of hosts, at least half of a rack, whose GPUs divide the
// job's, with the network's ports in proportion; otherwise the whole node.
NodeType in_segments(NodeType node, int gpus);

}  // namespace orrery
