// Physical bounds of the metrics of an answer. They hold for any tool that predicts the metrics;
// `orrery suite score` uses them where no measurement exists.
//
// Bounds follow from counts (parameters, FLOPs, bytes of weights and of KV cache), from the
// question and from the data sheet. They contain no predicted time:
//   times        at least FLOPs / peak rate, and at least (bytes that a pass must read - bytes that
//                the caches can keep from the previous pass) / memory bandwidth
//   rates        at most those that these times allow, with the question's number of requests
//   collectives  at least the bytes through the narrowest cut of the links
//   memory       at least weights and optimizer states; caches at most the rest of the memory
//   shares       0 to 100 %
//   counts       within 3 % of the count from the dimensions (kCounted, bound_rows.h), because
//                formats differ in scales and padding
// No figure is negative. A bound is the figure of the best possible software with the model,
// formats, layout and hardware of the question. Requests of random length count as the shortest
// ones. Metrics without a known bound have none.
//
// The functions below add rows to Point::bounds.
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
