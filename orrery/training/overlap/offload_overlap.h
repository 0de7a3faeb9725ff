// Saved tensors on their way to the host and back beside a pass, layer by layer.
//
// Two layers' saved tensors are on the device at once (memory/training_memory.h): the layer's that
// runs, and the one's that leaves. With n layers of computation a and transfer c each, a forward
// pass takes
//
//   n a            where c <= a
//   2 a + (n-2) c  else, n >= 2
//
// since layer i waits until those of layer i-2 have left; the last two layers' leave beside the
// next pass, or stay where that is their own backward pass. A backward pass is the mirror image:
// the last two layers' are there. A copy over PCIe takes nothing from computation, and the two ways
// do not disturb each other.
#pragma once

#include "orrery/base/units.h"

namespace orrery {

// `compute` and `transfer` of all layers, each alone.
Seconds offloaded_time(Seconds compute, Seconds transfer, int layers);
// The same by running every layer on two streams.
Seconds run_offloaded(Seconds compute, Seconds transfer, int layers);

}  // namespace orrery
