// The bandwidth over which a GPU exchanges tensors with its host: saved activations, gradients,
// updated weights, optimizer states.
#pragma once

#include "orrery/hardware/gpu.h"

namespace orrery {

// Bandwidth between a GPU and its host, each way. If the catalog has none, that of PCIe 4.0 x16:
// 31.5 GB/s by its specification, of which copies reach about 25 GB/s.
BytesPerSecond host_link(const Gpu& gpu);

}  // namespace orrery
