// The time of an all-reduce over the links of chips of cores.
#pragma once

#include "orrery/accelerator/chip/core_chip.h"

namespace orrery {

// A ring of `chips` whose ranks hold `bytes` each: 2 (n - 1) steps, each of which passes a share
// bytes / n on. Small messages travel with a flag beside every word, which halves the bandwidth and
// shortens a step; the faster of both is taken, as NCCL chooses between its protocols LL and
// Simple. The scenario's own network model is used where a whole service is predicted; this one
// needs nothing but the chip.
Seconds all_reduce_time(const CoreChip& chip, int chips, Bytes bytes);

}  // namespace orrery
