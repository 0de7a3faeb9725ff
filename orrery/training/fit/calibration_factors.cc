#include "orrery/training/fit/calibration_factors.h"

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "orrery/base/index.h"

namespace orrery {
namespace {

constexpr double kNoise = 0.15;  // scale of the noise of step 1
constexpr double kDeviation = 0.1,
                 kRunNoise = 0.03;  // of the process of step 2
constexpr double kMost = 0.5;       // largest error of one run that step 2 uses

// Standard deviation of the logarithm of a factor's prior.
double deviation(TrainingConstant c) {
  using C = TrainingConstant;
  switch (c) {
    case C::kProducts:  // stacks differ by up to 1.4 in the time of the same products
      return 0.25;
    case C::kAttention:
    case C::kAttentionBackward:
    case C::kExperts:
    case C::kHead:
      return 0.2;
    case C::kTensor:
    case C::kExpertExchange:
      return 0.3;
    case C::kJitter:  // three runs do not tell it
      return 0.01;
    default:
      return 0.8;
  }
}

double correlation(const RunLikeness& a, const RunLikeness& b) {
  const TrainingPlan &p = a.job.plan, &q = b.job.plan;
  double d = (a.model != b.model ? 1 : 0) + (a.job.tuning != b.job.tuning ? 1 : 0) +
             (a.release != b.release ? 0.5 : 0) + (a.job.recompute != b.job.recompute ? 0.5 : 0);
  const auto size = [&](auto one, auto other) {
    d += 0.1 * std::pow(std::log2(static_cast<double>(one) / static_cast<double>(other)), 2);
  };
  size(p.tp, q.tp), size(p.pp, q.pp), size(p.vp, q.vp), size(p.cp, q.cp), size(p.ep, q.ep);
  size(a.job.seq, b.job.seq), size(a.job.micro_batch, b.job.micro_batch);
  return std::exp(-d);
}

// The solution of (deviation^2 correlation + noise^2) x = left; the matrix is positive definite.
std::vector<double> weights_of(const std::vector<RunLikeness>& runs,
                               const std::vector<double>& left) {
  const auto n = static_cast<Eigen::Index>(runs.size());
  Eigen::MatrixXd a(n, n);
  for (Eigen::Index i = 0; i < n; ++i) {
    for (Eigen::Index j = 0; j < n; ++j)
      a(i, j) = kDeviation * kDeviation * correlation(runs[index(i)], runs[index(j)]);
    a(i, i) += kRunNoise * kRunNoise;
  }
  const Eigen::VectorXd x = a.llt().solve(Eigen::Map<const Eigen::VectorXd>(left.data(), n));
  return {x.begin(), x.end()};
}

// The constants times the factors. Constants that multiply or state a time are also multiplied by
// exp(left).
TrainingConstants corrected(TrainingConstants k, const ConstantValues& factors, double left) {
  using C = TrainingConstant;
  for (std::size_t i = 0; i < kTrainingConstants; ++i) {
    const auto c = static_cast<C>(i);
    // kExperts multiplies kProducts, which already has the deviation.
    const bool time = (i < kTrainingCosts && c != C::kExperts) || c == C::kOptimizer ||
                      c == C::kLaunch || c == C::kHost;
    const TrainingConstantProperties& f = properties(c);
    k.value[i] =
        std::clamp(k.value[i] * factors[i] * (time ? std::exp(left) : 1.0), f.least, f.most);
  }
  return k;
}

}  // namespace

CalibrationFactors fit_calibration_factors(std::vector<MeasuredIteration> iterations,
                                           std::vector<RunLikeness> runs) {
  FactorGroup group;
  group.mean.fill(1);
  for (std::size_t i = 0; i < kTrainingConstants; ++i)
    group.sigma[i] = deviation(static_cast<TrainingConstant>(i));
  for (MeasuredIteration& m : iterations) m.groups = {{0}};
  CalibrationFactors own{fit_factors(iterations, {group}, kNoise)[0], std::move(runs), {}};
  std::vector<double> left;
  left.reserve(iterations.size());
  for (const MeasuredIteration& m : iterations) {
    TrainingConstants k;
    k.value = m.fixed;
    left.push_back(std::clamp(-m.error(corrected(k, own.constants, 0)), -kMost, kMost));
  }
  own.weights = weights_of(own.runs, left);
  return own;
}

TrainingConstants with_calibration_factors(TrainingConstants constants,
                                           const CalibrationFactors& own, const RunLikeness& run,
                                           double covered_error) {
  double left = 0;
  for (std::size_t i = 0; i < own.runs.size(); ++i)
    left += own.weights[i] * kDeviation * kDeviation * correlation(run, own.runs[i]);
  TrainingConstants k = corrected(std::move(constants), own.constants, left);
  k.error = std::min(k.error, covered_error);
  k.cover = FitCover::kCombination;
  return k;
}

}  // namespace orrery
