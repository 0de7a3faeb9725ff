// Rows of Point::bounds as physical_bounds.h's functions add them.
#pragma once

#include <limits>
#include <string>
#include <string_view>

#include "orrery/scenario/answer/answer.h"

namespace orrery {

// Relative tolerance of a count from the dimensions: formats differ in scales and padding.
inline constexpr double kCounted = 0.03;
inline constexpr double kUnbounded = std::numeric_limits<double>::infinity();

// One of an answer's own metrics, or none of them: then nothing is added.
inline void bound_below(Point& p, std::string_view metric, double low, std::string why) {
  if (p.find(metric) != nullptr)
    p.bounds.push_back({std::string(metric), low, kUnbounded, std::move(why)});
}
inline void bound_above(Point& p, std::string_view metric, double high, std::string why) {
  if (p.find(metric) != nullptr)
    p.bounds.push_back({std::string(metric), -kUnbounded, high, std::move(why)});
}
// A count from the dimensions.
void bound_counted(Point& p, std::string_view metric);
// Shares lie between 0 and 100 %, and nothing is negative but what compares two times.
void bound_common(Point& p);

}  // namespace orrery
