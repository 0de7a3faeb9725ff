// Errors of many predictions, gathered one by one: what a report's figures are made from.
#pragma once

#include <cstddef>
#include <vector>

namespace orrery {

struct ErrorSummary {
  std::size_t n = 0;
  double mape = 0, median = 0, p90 = 0, bias = 0;  // percent
  double coverage50 = 0, coverage90 = 0;           // percent of rows
};

class ErrorSample {
 public:
  // A measured value > 0, its prediction, and whether the measured value lies in the intervals.
  void add(double measured, double predicted, bool in50, bool in90);
  ErrorSummary summary() const;

 private:
  std::vector<float> percent_;  // |predicted - measured| / measured
  double sum_ = 0, signed_sum_ = 0;
  std::size_t in50_ = 0, in90_ = 0;
};

}  // namespace orrery
