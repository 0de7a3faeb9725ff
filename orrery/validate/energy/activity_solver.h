// Solves for the constants of one kernel class (kernel_activity.h).
#pragma once

#include <vector>

#include "orrery/energy/power/kernel_activity.h"

namespace orrery {

// Share of the limit from which on a reading is that of a board that its limit holds down.
inline constexpr double kAtLimit = 0.97;

// A reading of a repeated call, in watts.
struct ActivityReading {
  Utilisation used;
  double power = 0;      // read, awake power included
  double awake = 0;      // of the board
  double span = 0;       // limit less awake
  double regulated = 0;  // power of a board at its limit
  double weight = 1;
};

// The least sum of weight * |log(predicted / read)| + `prior_weight` * (distance from `prior`)^2
// over non-negative constants, that of the memory at least kMemoryChips.
ActivityShares solve_activity(const std::vector<ActivityReading>& readings, double exponent,
                              const ActivityShares& prior, double prior_weight);

}  // namespace orrery
