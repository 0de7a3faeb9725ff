// Simulated time in whole picoseconds since the start of a simulation. Sums have no rounding
// errors, and order is total. The range of 2^63 ps is 106 days; a time beyond it is an InputError.
#pragma once

#include <cmath>
#include <compare>
#include <cstdint>

#include "orrery/base/units.h"

namespace orrery {

// Throws the InputError of a time beyond the range.
[[noreturn]] void refuse_sim_time();

struct SimTime {
  std::int64_t ps = 0;

  constexpr auto operator<=>(const SimTime&) const = default;
  friend constexpr SimTime operator+(SimTime a, SimTime b) {
    SimTime sum;
    if (__builtin_add_overflow(a.ps, b.ps, &sum.ps)) refuse_sim_time();
    return sum;
  }
  friend constexpr SimTime operator*(SimTime a, std::int64_t times) {
    SimTime product;
    if (__builtin_mul_overflow(a.ps, times, &product.ps)) refuse_sim_time();
    return product;
  }
  friend constexpr SimTime operator-(SimTime a, SimTime b) { return {a.ps - b.ps}; }
  constexpr SimTime& operator+=(SimTime b) { return *this = *this + b; }
  constexpr double seconds() const { return static_cast<double>(ps) * 1e-12; }
  constexpr Seconds time() const { return Seconds(seconds()); }
};

inline constexpr SimTime kNever{INT64_MAX};

// Seconds, rounded to the nearest picosecond, halves away from 0. What std::llround gives, without
// a call.
inline SimTime sim_seconds(double s) {
  if (!(std::abs(s) < 9.2e6)) refuse_sim_time();
  const double ps = s * 1e12;
  const auto whole = static_cast<std::int64_t>(ps);
  const double rest = ps - static_cast<double>(whole);  // exact
  return {whole + (rest >= 0.5) - (rest <= -0.5)};
}
inline SimTime sim_time(Seconds t) { return sim_seconds(t.value()); }

}  // namespace orrery
