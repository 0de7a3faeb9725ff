// The tree that a suite's expression is parsed into; suite_expression.h is the manual.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/scenario/answer/answer.h"

namespace orrery {

// A name in an expression: a part of an answer.
struct SuiteReference {
  using Filter = std::vector<std::pair<std::string, std::string>>;  // key=value
  enum class What { kMetric, kAt, kFeasible, kMemoryRow, kMemoryRows, kKernels, kNotes };

  std::string run;  // empty: the first
  Filter points;
  What what = What::kMetric;
  std::string name;  // a metric, key of `at`, row of the memory, quantity of kernels, or note
  Filter kernels;
  std::string text;  // as written
};

struct SuiteTerm {
  enum class Op {
    kNumber,
    kReference,
    kFunction,
    kNegate,
    kAdd,
    kSubtract,
    kMultiply,
    kDivide,
    kPower,
    kLess,
    kLessEqual,
    kGreater,
    kGreaterEqual,
    kEqual,
    kUnequal,
    kIn,      // value, least, most
    kWithin,  // value, tolerance, of
    kAnd,
    kOr,
    kNot
  };
  Op op = Op::kNumber;
  double number = 0;
  std::string function;
  SuiteReference reference;
  std::vector<SuiteTerm> terms;

  // Whether the value of the term is true or false, and not a number.
  bool is_condition() const;
};

// Whether a point has the values of a filter, as swept values or as metrics.
bool suite_point_matches(const Point& point, const SuiteReference::Filter& filter);
// The values of a point for the keys in which `all` points differ: "osl=2048 batch=1".
std::string suite_point_label(const Point& point, const std::vector<const Point*>& all);

// Whether the value of a function is true or false, such as that of rising or falling.
bool is_suite_test(std::string_view function);
const std::vector<std::string>& suite_functions();

}  // namespace orrery
