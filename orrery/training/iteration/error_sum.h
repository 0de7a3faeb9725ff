// The error of a sum of times: errors that all times share are added, those of each time alone in
// quadrature (estimate.h).
#pragma once

#include <cmath>

#include "orrery/base/estimate.h"
#include "orrery/base/units.h"

namespace orrery {

class ErrorSum {
 public:
  // Adds a time that occurs `times` times, with the same error each time, and returns its sum.
  Seconds add(const Estimate<Seconds>& e, double times = 1) {
    const double t = e.value.value() * times;
    time_ += t, shared_ += t * e.shared, own_squared_ += std::pow(t * e.own, 2);
    return e.value * times;
  }

  // Relative errors of the sum; 0 if it is empty.
  double shared() const { return time_ > 0 ? shared_ / time_ : 0; }
  double own() const { return time_ > 0 ? std::sqrt(own_squared_) / time_ : 0; }

 private:
  double time_ = 0, shared_ = 0, own_squared_ = 0;
};

}  // namespace orrery
