// Copies of saved tensors to the host and back that overlap with a pass, layer by layer.
//
// The device holds the saved tensors of two layers at a time (memory/training_memory.h): those of
// the layer that runs and those of the layer before, which are being copied. With n layers of
// computation a and transfer c each, a forward pass takes
//
//   n a            if c <= a
//   2 a + (n-2) c  otherwise, for n >= 2
//
// because layer i waits until the tensors of layer i-2 have left. The tensors of the last two
// layers leave during the next pass, or stay if that is their own backward pass. A backward pass is
// the mirror image: the tensors of the last two layers are still on the device. A copy over PCIe
// does not slow computation down, and the two directions do not disturb each other.
#pragma once

#include "orrery/base/units.h"

namespace orrery {

// The time of a pass, by the formula. `compute` and `transfer` are of all layers, each alone.
Seconds offloaded_time(Seconds compute, Seconds transfer, int layers);
// The time of a pass, by running every layer on two streams.
Seconds run_offloaded(Seconds compute, Seconds transfer, int layers);

}  // namespace orrery
