// Amounts that are no physical quantity (units.h), as distinct types: dollars are not added to
// grams.
#pragma once

#include "orrery/base/units.h"

namespace orrery {

template <class Tag>
class Amount {
 public:
  constexpr Amount() = default;
  constexpr explicit Amount(double value) : value_(value) {}
  constexpr double value() const { return value_; }

  friend constexpr bool operator==(Amount a, Amount b) { return a.value_ == b.value_; }
  friend constexpr bool operator<(Amount a, Amount b) { return a.value_ < b.value_; }
  friend constexpr Amount operator+(Amount a, Amount b) { return Amount(a.value_ + b.value_); }
  friend constexpr Amount operator*(Amount a, double k) { return Amount(a.value_ * k); }
  friend constexpr Amount operator*(double k, Amount a) { return Amount(a.value_ * k); }

 private:
  double value_ = 0;
};

inline constexpr double kHoursOfYear = 8760;
inline constexpr Joules kKilowattHour = Joules(3.6e6);

}  // namespace orrery
