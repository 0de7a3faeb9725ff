// Every fit of this library is made of these: one optimiser, losses that limit the pull of
// outliers, and the choice of the rows that a fit does not see.
//
//   const auto x = minimise([&](const std::vector<double>& at) { return mean_loss(at, rows); },
//                           {0, 0}, {{-1, -1}, {1, 1}}, {.step = 0.25, .evaluations = 500});
//
// Every fit here is deterministic: the same rows give the same parameters, digit by digit.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>
#include <vector>

namespace orrery {

// The box in which minimise() searches: one lower and one upper bound for each parameter. A
// parameter whose bounds are equal is not fitted.
struct Bounds {
  std::vector<double> lower, upper;
};

// The same bounds for each of `parameters`.
inline Bounds equal_bounds(std::size_t parameters, double lower, double upper) {
  return {std::vector<double>(parameters, lower), std::vector<double>(parameters, upper)};
}

struct Search {
  double step;                    // the first step of every parameter
  int evaluations;                // of the loss, at most
  double relative_tolerance = 0;  // ends where a step changes the loss by less; 0: never
};

using Loss = std::function<double(const std::vector<double>& parameters)>;

// The parameters of the least loss that was found from `start`, by Subplex (Rowan 1990, as NLopt's
// LN_SBPLX has it), which needs no derivatives. REQUIRES: `start` lies within `bounds`.
std::vector<double> minimise(const Loss& loss, std::vector<double> start, const Bounds& bounds,
                             const Search& search);

// Huber's loss, scaled so that it is the square of the residual up to `limit`; it grows linearly
// from there, with the slope that it has at `limit`.
inline double huber(double residual, double limit) {
  const double r = std::abs(residual);
  return r < limit ? r * r : limit * (2 * r - limit);
}

// The absolute residual up to `limit`; it grows as the logarithm from there, with slope 1 at
// `limit`. A row that is wrong altogether pulls ever less.
inline double log_tailed(double residual, double limit) {
  const double r = std::abs(residual);
  return r < limit ? r : limit * (1 + std::log(r / limit));
}

// The weight under which the square of a residual pulls as Huber's loss does: 1 up to `limit`,
// limit / |residual| beyond.
inline double huber_weight(double residual, double limit) {
  const double r = std::abs(residual);
  return r > limit ? limit / r : 1;
}

// Half the derivative of huber() by the residual: the residual, held within `limit` on both sides.
inline double huber_pull(double residual, double limit) {
  return std::clamp(residual, -limit, limit);
}

// Whether the rows called `name` are kept from a fit, to judge it: about one name of `every`, by a
// hash of the name, so that the choice does not depend on the order of rows or on other rows.
bool leave_out_by_hash(std::string_view name, unsigned every);

}  // namespace orrery
