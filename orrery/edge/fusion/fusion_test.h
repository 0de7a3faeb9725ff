// Finds by measurement whether a runtime fuses two operators: nn-Meter's test (Zhang et al.,
// MobiSys 2021, section 4). Two operators are timed alone and as a block; if the block saves more
// than half of the cheaper one, they are one kernel.
#pragma once

namespace orrery {

struct FusionTiming {
  double first_ms = 0, second_ms = 0;  // each operator alone
  double block_ms = 0;                 // the second right behind the first
};

// The share of the cheaper operator that the block saves: (T1 + T2 - T12) / min(T1, T2).
// InputError unless all times are positive and finite.
double fusion_saving(const FusionTiming& timing);

// Whether the saving is above one half.
bool is_fused(const FusionTiming& timing);

}  // namespace orrery
