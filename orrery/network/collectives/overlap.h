// The slow-down of computation by a collective that runs at the same time.
//
// The kernel of a collective holds multiprocessors while it runs, one for each channel and
// direction: 24 for rings and trees (12 channels), 16 for NVLS (8 channels). DeepEP's normal
// kernels hold the number that they are given, its low-latency kernels none. Kernels bound by
// arithmetic have the remaining multiprocessors. Kernels bound by memory are not slowed: the
// traffic of the collective, at most its bus bandwidth, is a few percent of that of the GPU's
// memory. This is counting; no public table of measured overlaps was fitted.
//
// At a lower clock the multiprocessors copy less in a second: library_rate() says how much at the
// boost clock.
#pragma once

#include "orrery/base/bundle.h"
#include "orrery/base/units.h"
#include "orrery/hardware/gpu.h"

namespace orrery {

// Multiprocessors that the library's kernel holds; 0 where it is unknown (GPUs that are not
// NVIDIA's). `nvls_kernel`: the kernel is NVLS's (CollectiveChoice::nvls_kernel).
int library_sms(const Gpu& gpu, bool nvls_kernel);

// The rate at which these multiprocessors together copy and reduce at the boost clock, as bus
// bandwidth: the most that NCCL's tuner gives a channel (catalog/network/nccl-*.yaml: of a tree on
// one node, for NVLS's kernel of an NVLSTree on two), times their number. About twice what the
// links carry. 0 where it is unknown.
BytesPerSecond library_rate(const Bundle& bundle, const Gpu& gpu, bool nvls_kernel);

// Factor of the time of a kernel bound by arithmetic if `held` of `all` multiprocessors are taken:
// all / (all - held), and `all` if none is left. REQUIRES held >= 0.
double compute_slowdown(int held, int all);

}  // namespace orrery
