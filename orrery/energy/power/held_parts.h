// The parts of the power of steps (step_power.h) at a clock below the reference clock.
#pragma once

#include <algorithm>

#include "orrery/energy/power/step_power.h"

namespace orrery {

// `parts` of the power at the reference clock where the board draws `share` of its limit in place
// of their sum. The awake board draws at every clock what it does, and the other parts what is left
// of it in proportion to what they draw at the reference clock.
inline PowerParts held_parts(const PowerParts& parts, double share) {
  const double active = parts.sum() - parts.awake;
  PowerParts held = parts;
  held.awake = active > 0 ? std::min(parts.awake, share) : share;
  const double left = active > 0 ? (share - held.awake) / active : 0;
  for (double* part : {&held.kernels, &held.compute, &held.memory, &held.links}) *part *= left;
  return held;
}

}  // namespace orrery
