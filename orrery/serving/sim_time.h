// Simulated time: whole picoseconds since the start of a simulation, so that sums have no rounding
// and order is total. 2^63 ps are 106 days.
#pragma once

#include <cmath>
#include <compare>
#include <cstdint>

#include "orrery/base/units.h"

namespace orrery {

struct SimTime {
  std::int64_t ps = 0;

  constexpr auto operator<=>(const SimTime&) const = default;
  friend constexpr SimTime operator+(SimTime a, SimTime b) { return {a.ps + b.ps}; }
  friend constexpr SimTime operator-(SimTime a, SimTime b) { return {a.ps - b.ps}; }
  constexpr SimTime& operator+=(SimTime b) { return ps += b.ps, *this; }
  constexpr double seconds() const { return static_cast<double>(ps) * 1e-12; }
  constexpr Seconds time() const { return Seconds(seconds()); }
};

inline constexpr SimTime kNever{INT64_MAX};

// To the nearest picosecond. REQUIRES |t| below 106 days.
inline SimTime sim_time(Seconds t) { return {std::llround(t.value() * 1e12)}; }
inline SimTime sim_seconds(double s) { return {std::llround(s * 1e12)}; }

}  // namespace orrery
