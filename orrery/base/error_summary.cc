#include "orrery/base/error_summary.h"

#include <cmath>

#include "orrery/base/quantile.h"

namespace orrery {

void ErrorSample::add(double measured, double predicted, bool in50, bool in90) {
  const double relative = (predicted - measured) / measured * 100;
  percent_.push_back(static_cast<float>(std::abs(relative)));
  sum_ += std::abs(relative);
  signed_sum_ += relative;
  in50_ += in50;
  in90_ += in90;
}

ErrorSummary ErrorSample::summary() const {
  ErrorSummary s;
  s.n = percent_.size();
  if (s.n == 0) return s;
  const double n = static_cast<double>(s.n);
  s.mape = sum_ / n;
  s.bias = signed_sum_ / n;
  s.coverage50 = 100 * static_cast<double>(in50_) / n;
  s.coverage90 = 100 * static_cast<double>(in90_) / n;
  const std::vector<double> sorted(percent_.begin(), percent_.end());
  s.median = quantile(sorted, 0.5);
  s.p90 = quantile(sorted, 0.9);
  return s;
}

}  // namespace orrery
