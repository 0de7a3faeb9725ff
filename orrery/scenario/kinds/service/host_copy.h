// Copies between host and GPU memory over the GPU's host link.
#pragma once

#include "orrery/hardware/gpu.h"

namespace orrery {

// The rate of one GPU's copies from pinned memory in one direction: 0.82 of the link's rate. CUDA's
// bandwidth test prints 25 to 26 GB/s of 31.5 (PCIe 4 x16) and 52 to 55 of 63 (PCIe 5 x16). NoData
// where the link's rate is not known.
BytesPerSecond host_copy_rate(const Gpu& gpu);

// One copy of `bytes` made of `tensors` calls. A call takes 10 us beside the transfer: launch of an
// asynchronous copy from Python (assumption, 5 to 20 us).
Seconds host_copy_time(const Gpu& gpu, Bytes bytes, std::int64_t tensors);

}  // namespace orrery
