// The best point of a sweep: the least energy, the least cost or the least energy-delay product, of
// the points that fit and that meet the limits of their SLO.
//
// All three count for one token of output (serving), of the training data, or for one call of a
// kernel. Delay is the time of a token at the deployment's rate, so that the energy-delay product
// is the energy over the rate. What the best point saves is stated against the fastest of the same
// points, at what loss of rate.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "orrery/scenario/answer/answer.h"

namespace orrery {

// "energy", "cost", "energy-delay".
const std::vector<std::string>& objective_names();

// The value of an objective at a point, and the rate at which it works. Nothing: the point has no
// answer, misses its SLO, or states no such figure (no price, no power of the boards).
struct Objective {
  double value = 0, rate = 0;
  std::string unit;
};
std::optional<Objective> objective_of(const std::string& name, const Point& point);

// The best point. Nothing: no point has a value. Of equal values the faster point wins, then the
// first.
std::optional<Optimum> find_optimum(const std::string& name, std::span<const Point> points);

// "least energy: power_limit 400W, 0.0717 J a token; 28 % less than the fastest point, at 22 % less
// throughput".
std::string describe(const Optimum& optimum, std::span<const Point> points);

}  // namespace orrery
