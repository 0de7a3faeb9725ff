// Errors of many predictions in percent of the measured values. Predictions are added one by one.
#pragma once

#include <cstddef>
#include <vector>

namespace orrery {

struct ErrorSummary {
  std::size_t n = 0;
  // Mean, median and 90 % point of |predicted - measured| / measured, and mean of the signed
  // errors; percent.
  double mape = 0, median = 0, p90 = 0, bias = 0;
  // Percent of the rows whose measured value lies in the interval.
  double coverage50 = 0, coverage90 = 0;
};

class ErrorSample {
 public:
  // Adds a measured value > 0 and its prediction. `in50` and `in90` tell whether the measured value
  // lies in the prediction's 50 % and 90 % interval.
  void add(double measured, double predicted, bool in50, bool in90);
  ErrorSummary summary() const;

 private:
  std::vector<float> percent_;  // |predicted - measured| / measured
  double sum_ = 0, signed_sum_ = 0;
  std::size_t in50_ = 0, in90_ = 0;
};

}  // namespace orrery
