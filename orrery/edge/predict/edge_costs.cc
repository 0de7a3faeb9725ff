#include "orrery/edge/predict/edge_costs.h"

#include <algorithm>
#include <cmath>

namespace orrery {
namespace {

constexpr double kMicro = 1e-6;

// The time of a task at some costs, and how its logarithm changes with each of them.
struct Slope {
  double time = 0;  // seconds
  Eigen::VectorXd of;
};

Slope slope_of(const Eigen::VectorXd& costs, const EdgeTask& task) {
  Slope s{0, Eigen::VectorXd::Zero(costs.size())};
  constexpr auto kKinds = static_cast<Eigen::Index>(kEdgeWorkKinds);
  const Eigen::Map<const Eigen::VectorXd> amounts(task.work.data(), kKinds);
  const Eigen::VectorXd terms = costs.head(kKinds).array().exp() * amounts.array();
  s.time = terms.sum() * kMicro;
  if (s.time <= 0) return s;
  s.of.head(kKinds) = terms / terms.sum();
  if (task.deviation != kNoDeviation) {
    s.of[kKinds + task.deviation] = 1;
    s.time *= std::exp(costs[kKinds + task.deviation]);
  }
  return s;
}

}  // namespace

EdgeCosts calibrated(const EdgeCosts& before, std::span<const MeasuredNetwork> measured,
                     const EdgeLoss& loss) {
  if (measured.empty()) return before;
  const auto rows = static_cast<Eigen::Index>(measured.size());
  Eigen::VectorXd noise(rows);
  for (Eigen::Index i = 0; i < rows; ++i) {
    const bool known = measured[std::size_t(i)].task.deviation != kNoDeviation;
    noise[i] = loss.noise * loss.noise + (known ? 0 : before.unknown);
  }
  EdgeCosts out = before;
  Eigen::MatrixXd slopes(rows, before.mean.size()), together;
  Eigen::VectorXd weights = Eigen::VectorXd::Ones(rows), off(rows);
  Eigen::LDLT<Eigen::MatrixXd> spread;
  constexpr int kSteps = 40;
  constexpr double kLongest = 1, kConverged = 1e-6;
  for (int step = 0; step < kSteps; ++step) {
    for (Eigen::Index i = 0; i < rows; ++i) {
      const MeasuredNetwork& m = measured[std::size_t(i)];
      const Slope s = slope_of(out.mean, m.task);
      slopes.row(i) = s.of.transpose();
      off[i] = std::log(m.time.value() / s.time);
    }
    together = before.covariance * slopes.transpose();
    Eigen::MatrixXd variance = slopes * together;
    const Eigen::VectorXd own = noise.array() / weights.array();
    variance.diagonal() += own;
    spread.compute(variance);
    const Eigen::VectorXd pull = spread.solve(off + slopes * (out.mean - before.mean));
    Eigen::VectorXd move = before.mean + together * pull - out.mean;
    // Noise is a part of each row's difference. Beyond the limit the row's weight falls, as Huber's
    // loss says.
    const auto beyond = own.array() * pull.array().abs() / noise.array().sqrt() / loss.limit;
    weights = beyond.max(1).inverse().matrix().eval();
    const double longest = move.cwiseAbs().maxCoeff();
    if (longest > kLongest) move *= kLongest / longest;
    out.mean += move;
    if (longest < kConverged) break;
  }
  out.covariance -= together * spread.solve(together.transpose());
  return out;
}

double noise_of(const EdgeCosts& before, std::span<const MeasuredNetwork> measured) {
  constexpr int kRounds = 5;
  constexpr double kLeast = 0.01, kMost = 0.15, kGross = 3;
  EdgeLoss loss{0.05, 2};
  for (int round = 0; round < kRounds; ++round) {
    const EdgeCosts found = calibrated(before, measured, loss);
    double squares = 0, free = 0;  // what is left of the measurements beside what they decide
    for (const MeasuredNetwork& m : measured) {
      const Slope s = slope_of(found.mean, m.task);
      const double off = std::log(m.time.value() / s.time) / loss.noise;
      squares += std::min(off * off, kGross * kGross);
      free += 1 - std::min(1.0, s.of.dot(found.covariance * s.of) / (loss.noise * loss.noise));
    }
    loss.noise = std::clamp(loss.noise * std::sqrt(squares / std::max(free, 1.0)), kLeast, kMost);
  }
  return loss.noise;
}

Seconds median_time(const EdgeCosts& costs, const EdgeWork& work) {
  double sum = 0;
  for (std::size_t k = 0; k < work.size(); ++k)
    if (work[k] > 0) sum += std::exp(costs.mean[Eigen::Index(k)]) * work[k];
  return Seconds(sum * kMicro);
}

Estimate<Seconds> time_of(const EdgeCosts& costs, const EdgeTask& task, double residual,
                          Origin origin) {
  const Slope s = slope_of(costs.mean, task);
  if (s.time <= 0) return {Seconds(0), 0, 0, origin, Tails::kHeavy};
  const double shared = std::sqrt(std::max(0.0, s.of.dot(costs.covariance * s.of)));
  const double unknown = task.deviation == kNoDeviation ? costs.unknown : 0;
  const double own = residual > 0 ? std::sqrt(residual * residual + unknown) : 0;
  return {Seconds(s.time), shared, own, origin, Tails::kHeavy};
}

}  // namespace orrery
