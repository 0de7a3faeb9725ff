// US dollars, and the cost of GPUs that are paid for by the hour.
#pragma once

#include <algorithm>
#include <cmath>

#include "orrery/base/estimate.h"
#include "orrery/base/units.h"
#include "orrery/energy/account/amount.h"

namespace orrery {

using Usd = Amount<struct UsdTag>;

inline constexpr Seconds kPaidHour = Seconds(3600);

// The cost of `time` at the price `hour` of an hour. The errors of price and time are independent.
inline Estimate<Usd> cost_of(const Estimate<Usd>& hour, const Estimate<Seconds>& time) {
  return {hour.value * (time.value / kPaidHour), std::hypot(hour.shared, time.shared),
          std::hypot(hour.own, time.own), std::max(hour.origin, time.origin), time.tails};
}

}  // namespace orrery
