#include "orrery/kernel/fit/point_choice.h"

#include <Eigen/Dense>
#include <cmath>
#include <numeric>

namespace orrery {
namespace {

// Errors of calls in units of the stated error: what all calls have in common, and what neighbours
// have (Matern's kernel, three octaves wide, as in calibration.cc). Related classes share most.
constexpr double kCommon = 0.5, kNeighbours = 0.56, kOctaves = 3, kRelated = 0.95;
constexpr double kNoise = 0.3;  // of a measurement

double alike(const CalibrationPlace& a, const CalibrationPlace& b, std::size_t places) {
  double square = 0;
  for (std::size_t i = 0; i < places; ++i) {
    const double x = (a.at[i] - b.at[i]) / kOctaves;
    square += x * x;
  }
  const double d = std::sqrt(3 * square);
  return kCommon + kNeighbours * (1 + d) * std::exp(-d);
}

Eigen::Index at(std::size_t i) { return static_cast<Eigen::Index>(i); }

// The part of the candidates' covariance that the points of related classes explain.
Eigen::MatrixXd told_by(std::span<const std::vector<CalibrationPlace>> related,
                        std::span<const CalibrationPlace> candidates, std::size_t places) {
  std::vector<const CalibrationPlace*> points;
  std::vector<std::size_t> group;
  for (std::size_t g = 0; g < related.size(); ++g) {
    for (const CalibrationPlace& p : related[g]) {
      points.push_back(&p);
      group.push_back(g);
    }
  }
  Eigen::MatrixXd own(at(points.size()), at(points.size()));
  Eigen::MatrixXd cross(at(points.size()), at(candidates.size()));
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (std::size_t j = 0; j < points.size(); ++j) {
      own(at(i), at(j)) =
          (group[i] == group[j] ? 1 : kRelated) * alike(*points[i], *points[j], places);
    }
    own(at(i), at(i)) += kNoise * kNoise;
    for (std::size_t j = 0; j < candidates.size(); ++j)
      cross(at(i), at(j)) = kRelated * alike(*points[i], candidates[j], places);
  }
  return cross.transpose() * own.ldlt().solve(cross);
}

}  // namespace

std::vector<std::size_t> choose_points(std::span<const CalibrationPlace> candidates,
                                       std::size_t count, std::size_t places,
                                       std::span<const std::vector<CalibrationPlace>> related) {
  std::vector<std::size_t> chosen;
  if (candidates.size() <= count) {
    chosen.resize(candidates.size());
    std::iota(chosen.begin(), chosen.end(), std::size_t{0});
    return chosen;
  }
  const Eigen::Index n = at(candidates.size());
  Eigen::MatrixXd unknown(n, n);  // covariance of the errors, given the points
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      unknown(at(i), at(j)) = unknown(at(j), at(i)) = alike(candidates[i], candidates[j], places);
    }
  }
  if (!related.empty()) unknown -= told_by(related, candidates, places);
  std::vector<bool> taken(candidates.size());
  while (chosen.size() < count) {
    std::size_t best = candidates.size();
    double most = 0;  // by how much the sum of the variances falls
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (taken[i]) continue;
      const double falls =
          unknown.col(at(i)).squaredNorm() / (unknown(at(i), at(i)) + kNoise * kNoise);
      if (best == candidates.size() || falls > most) best = i, most = falls;
    }
    taken[best] = true;
    chosen.push_back(best);
    const Eigen::VectorXd column = unknown.col(at(best));
    unknown.noalias() -= column * (column.transpose() / (column[at(best)] + kNoise * kNoise));
  }
  return chosen;
}

}  // namespace orrery
