// Racks of trays (72 GPUs in one NVLink domain) that a job fills in part: schedulers give it equal
// segments of as many racks, so that groups of powers of two stay inside one (NVIDIA's recipes for
// GB200 NVL72: 16 of the 18 trays).
#pragma once

#include "orrery/hardware/catalog.h"

namespace orrery {

// `node` as a job of `gpus` GPUs has it: where it fills more than one rack of several hosts, the
// largest whole number of hosts, at least half of a rack, that divides the job; its network's ports
// in proportion. Others as they are.
NodeType in_segments(NodeType node, int gpus);

}  // namespace orrery
