// What physics lets the figure of an expression be: interval arithmetic over the bounds of what the
// expression names (orrery/scenario/bounds/physical_bounds.h), which no predicted number is part of.
//
//   a metric                 Point::bounds
//   at                       as it is
//   memory.weights, .optimizer, .gradients   3 % about the count (kCounted); other rows not
//   negative kernels                  shares 0 to 1, times and calls not negative
#pragma once

#include <string>
#include <vector>

#include "orrery/suite/suite_expression.h"

namespace orrery {

struct SuiteRange {
  std::string at;  // as in SuiteCell
  double low = 0, high = 0;
  std::string low_why, high_why;

  bool only_sign() const;  // nothing but that it is not negative
  bool bounded() const;
};

// A range for each number that the expression selects. Of `answers` the points must have bounds.
// NoData as SuiteExpression::figure.
std::vector<SuiteRange> suite_bounds(const SuiteExpression& expression,
                                     const SuiteAnswers& answers);

// Of one metric of a point.
SuiteRange metric_bound(const Point& point, const std::string& metric);

// Whether an expression names nothing that is predicted: numbers, `at`, rows of the memory and
// metrics that are counts.
bool only_counts(const SuiteTerm& term);

}  // namespace orrery
