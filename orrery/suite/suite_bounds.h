// The physical bounds of an expression's figure: interval arithmetic over the bounds of what the
// expression names (orrery/scenario/bounds/physical_bounds.h). Predicted numbers have no part in
// it.
//
//   a metric                                 its range in Point::bounds
//   at                                       its value
//   memory.weights, .optimizer, .gradients   3 % below and above the counted bytes (kCounted)
//   other rows of the memory                 not negative
//   kernels                                  shares 0 to 1; times and calls not negative
#pragma once

#include <string>
#include <vector>

#include "orrery/suite/suite_expression.h"

namespace orrery {

struct SuiteRange {
  std::string at;  // as in SuiteCell
  double low = 0, high = 0;
  std::string low_why, high_why;

  bool only_sign() const;  // whether the range says only that the figure is not negative
  bool bounded() const;
};

// The ranges of the numbers that the expression selects, one for each. REQUIRES: the points of
// `answers` have bounds (RunOptions::bounds). Throws NoData as SuiteExpression::figure does.
std::vector<SuiteRange> suite_bounds(const SuiteExpression& expression,
                                     const SuiteAnswers& answers);

// The range of one metric of a point.
SuiteRange metric_bound(const Point& point, const std::string& metric);

// Whether an expression consists of counts only: numbers, `at`, rows of the memory, and metrics
// that are counted and not predicted.
bool only_counts(const SuiteTerm& term);

}  // namespace orrery
