#include "orrery/validate/edge/nas_noise.h"

#include <Eigen/Dense>
#include <cmath>
#include <map>

namespace orrery {
namespace {

double milli(Seconds time) { return time / milliseconds(1); }

}  // namespace

NasPairs twins_of(const std::vector<EdgeRow>& rows) {
  std::map<EdgeWork, std::vector<double>> same;
  for (const EdgeRow& r : rows) same[r.work].push_back(milli(r.time));
  NasPairs pairs;
  for (const auto& [work, times] : same) {
    if (times.size() < 2) continue;
    double sum = 0;
    for (const double t : times) sum += std::log(t);
    for (const double t : times)
      pairs.emplace_back(t, std::exp((sum - std::log(t)) / (real(times.size()) - 1)));
  }
  return pairs;
}

NasPairs regression_of(const std::vector<EdgeRow>& rows) {
  constexpr auto kKinds = static_cast<Eigen::Index>(kEdgeWorkKinds);
  // Kinds that no row has, and those that are multiples of each other, need some weight.
  constexpr double kRidge = 1e-9;
  Eigen::MatrixXd relative(Eigen::Index(rows.size()), kKinds + 1);
  for (Eigen::Index i = 0; i < relative.rows(); ++i) {
    const EdgeRow& r = rows[std::size_t(i)];
    for (Eigen::Index k = 0; k < kKinds; ++k)
      relative(i, k) = r.work[std::size_t(k)] / milli(r.time);
    relative(i, kKinds) = 1 / milli(r.time);
  }
  const Eigen::VectorXd scale = relative.colwise().norm().cwiseMax(1e-300);
  const Eigen::MatrixXd scaled = relative * scale.cwiseInverse().asDiagonal();
  Eigen::MatrixXd normal = scaled.transpose() * scaled;
  normal.diagonal().array() += kRidge;
  const Eigen::VectorXd ones = Eigen::VectorXd::Ones(relative.rows());
  const Eigen::VectorXd fitted = scaled * normal.ldlt().solve(scaled.transpose() * ones);
  NasPairs pairs;
  for (Eigen::Index i = 0; i < relative.rows(); ++i) {
    const double time = milli(rows[std::size_t(i)].time);
    pairs.emplace_back(time, fitted[i] * time);
  }
  return pairs;
}

}  // namespace orrery
