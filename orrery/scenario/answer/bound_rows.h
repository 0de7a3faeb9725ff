// Adds rows to Point::bounds, for the functions of physical_bounds.h.
#pragma once

#include <limits>
#include <string>
#include <string_view>

#include "orrery/scenario/answer/answer.h"

namespace orrery {

// Relative tolerance of a count from the dimensions: formats differ in scales and padding.
inline constexpr double kCounted = 0.03;
inline constexpr double kUnbounded = std::numeric_limits<double>::infinity();

// Bounds a metric from below. Adds nothing if the answer does not have the metric.
inline void bound_below(Point& p, std::string_view metric, double low, std::string why) {
  if (p.find(metric) != nullptr)
    p.bounds.push_back({std::string(metric), low, kUnbounded, std::move(why)});
}
inline void bound_above(Point& p, std::string_view metric, double high, std::string why) {
  if (p.find(metric) != nullptr)
    p.bounds.push_back({std::string(metric), -kUnbounded, high, std::move(why)});
}
// Bounds a count, which follows from the dimensions, by kCounted on both sides.
void bound_counted(Point& p, std::string_view metric);
// Adds the bounds that hold for every answer: shares lie between 0 and 100 %, and no figure is
// negative except differences of two times.
void bound_common(Point& p);

}  // namespace orrery
