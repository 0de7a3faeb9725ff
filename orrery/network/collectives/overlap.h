// What communication takes from computation that runs beside it.
//
// A library's kernel holds one multiprocessor a channel while it runs: 24 for rings and trees (12
// channels, both directions), 16 where the switch adds up (8 channels, up and down); DeepEP's
// normal kernels the number that they are given, low-latency ones none. Kernels bound by arithmetic
// have the rest: slower by all / (all - held). Kernels bound by memory are not slowed by this; the
// collective's own traffic, at most its bus bandwidth, is a few percent of HBM's. No table of
// measured overlaps is at hand: this is counting, not a fit.
#pragma once

#include "orrery/hardware/gpu.h"

namespace orrery {

// Multiprocessors that the library's kernel holds; 0 where nothing is known (not NVIDIA).
int library_sms(const Gpu& gpu, bool in_network);

// Factor of the time of a kernel bound by arithmetic. REQUIRES 0 <= held; held >= all gives the
// factor of the last multiprocessor.
double compute_slowdown(int held, int all);

}  // namespace orrery
