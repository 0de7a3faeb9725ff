// How far readings of nearly the same call differ: what no model of the call alone can explain.
//
// Two calls are twins if they have one GPU, framework and class, and their utilisations, their time
// and their coordinates on the surface of their family (sizes, usually as binary logarithms) lie
// within kTwinDistance of each other, as a Euclidean distance of binary logarithms. Each call is
// compared with its nearest twin.
#pragma once

#include <vector>

#include "orrery/validate/energy/kernel_power_rows.h"

namespace orrery {

inline constexpr double kTwinDistance = 0.32;

struct TwinReadings {
  std::size_t calls = 0;  // that have a twin
  double difference = 0;  // mean |log| of the two powers
};

// The twins among the calls whose time is at least `from` and below `to`.
TwinReadings twin_readings(const std::vector<KernelPowerRow>& rows, Seconds from, Seconds to);

}  // namespace orrery
