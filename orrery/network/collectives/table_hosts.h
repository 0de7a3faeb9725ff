// The part of the host in the small messages of a table of collectives.
//
// The library's collectives were measured with eager launches, the all-reduces of the frameworks
// from a CUDA graph, both on the same machine. Where the library starts later than on another
// machine and the frameworks' kernels do not, its launches are what the GPUs wait for:
//
//   part = (R - R') - mean of (F - F') over the frameworks that both machines have
//
//   R   start of the library's ring all-reduce of two GPUs, by its fitted curve
//   F   start of a framework's one-shot all-reduce of two GPUs
//   '   the machine with the NVLink switch on which the part is the largest: the fastest host
//
// The GPUs themselves differ in the start of a kernel, which is the same in R and in F. The part is
// 2.7 us on A100, 2.2 us on B200 and 0 on H100.
#pragma once

#include "orrery/base/bundle.h"
#include "orrery/base/units.h"
#include "orrery/hardware/catalog.h"

namespace orrery {

// Zero for a fabric that is not an NVLink switch with a file and such curves of its own.
Seconds host_part(const Bundle& bundle, const Catalog& catalog, const Fabric& fabric);

}  // namespace orrery
