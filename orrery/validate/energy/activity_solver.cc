#include "orrery/validate/energy/activity_solver.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>

namespace orrery {
namespace {

using Matrix = Eigen::Matrix3d;
using Vector = Eigen::Vector3d;

constexpr int kRounds = 15;
constexpr double kSmallest = 0.03;    // log error below which a reading pulls by its square
constexpr double kSatisfied = 0.001;  // weight of a reading at the limit that is predicted there

// The non-negative x of the least x'Ax - 2b'x, over the eight sets of constants that are not 0.
Vector least_non_negative(const Matrix& a, const Vector& b) {
  Vector best = Vector::Zero();
  double least = 0;
  for (unsigned set = 1; set < 8; ++set) {
    Matrix part = a;
    Vector right = b;
    for (int i = 0; i < 3; ++i) {
      if ((set >> i & 1) != 0) continue;
      part.row(i).setZero();
      part.col(i).setZero();
      part(i, i) = 1;
      right(i) = 0;
    }
    const Vector x = part.ldlt().solve(right);
    if (x.minCoeff() < 0 || !x.allFinite()) continue;
    const double value = x.dot(a * x) - 2 * b.dot(x);
    if (value < least) least = value, best = x;
  }
  return best;
}

}  // namespace

ActivityShares solve_activity(const std::vector<ActivityReading>& readings, double exponent,
                              const ActivityShares& prior, double prior_weight) {
  const Vector least(0, 0, kMemoryChips);
  const Vector centre = Vector(prior.fixed, prior.compute, prior.memory).cwiseMax(least) - least;
  Vector x = centre;
  for (int round = 0; round < kRounds; ++round) {
    Matrix a = prior_weight * Matrix::Identity();
    Vector b = prior_weight * centre;
    for (const ActivityReading& r : readings) {
      const Vector row(1, std::pow(r.used.compute, exponent), std::pow(r.used.memory, exponent));
      const double at_least = r.awake + r.span * kMemoryChips * std::pow(r.used.off_chip, exponent);
      const double demanded = at_least + r.span * row.dot(x);
      const double error = std::log(std::min(demanded, r.regulated) / r.power);
      const bool satisfied = demanded > r.regulated && r.power > kAtLimit * (r.awake + r.span);
      const double weight = r.weight * (satisfied ? kSatisfied : 1) /
                            std::max(std::abs(error), kSmallest) /
                            (r.power * std::min(demanded, r.regulated));
      a += weight * r.span * r.span * row * row.transpose();
      b += weight * r.span * (r.power - at_least) * row;
    }
    x = least_non_negative(a, b);
  }
  x += least;
  return {x(0), x(1), x(2)};
}

}  // namespace orrery
