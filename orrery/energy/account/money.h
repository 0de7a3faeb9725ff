// US dollars, and the cost of GPUs that are paid for by the hour.
#pragma once

#include <cmath>

#include "orrery/base/estimate.h"
#include "orrery/base/units.h"

namespace orrery {

// An amount of US dollars.
class Usd {
 public:
  constexpr Usd() = default;
  constexpr explicit Usd(double value) : value_(value) {}
  constexpr double value() const { return value_; }

  friend constexpr bool operator==(Usd a, Usd b) { return a.value_ == b.value_; }
  friend constexpr bool operator<(Usd a, Usd b) { return a.value_ < b.value_; }
  friend constexpr Usd operator+(Usd a, Usd b) { return Usd(a.value_ + b.value_); }
  friend constexpr Usd operator*(Usd a, double k) { return Usd(a.value_ * k); }
  friend constexpr Usd operator*(double k, Usd a) { return Usd(a.value_ * k); }

 private:
  double value_ = 0;
};

inline constexpr Seconds kPaidHour = Seconds(3600);

// The cost of `time` at the price `hour` of an hour. The errors of price and time are independent.
inline Estimate<Usd> cost_of(const Estimate<Usd>& hour, const Estimate<Seconds>& time) {
  return {hour.value * (time.value / kPaidHour), std::hypot(hour.shared, time.shared),
          std::hypot(hour.own, time.own), std::max(hour.origin, time.origin), time.tails};
}

}  // namespace orrery
