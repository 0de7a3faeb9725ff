#include "orrery/training/fit/factor_fit.h"

#include <algorithm>
#include <cmath>

#include "orrery/base/fit.h"

namespace orrery {
namespace {

constexpr double kOutlier = 0.5;  // logarithmic error from which on the tail is logarithmic
constexpr double kSmooth = 0.01;  // error below which the sum is quadratic
constexpr double kStep = 0.02;    // of a constant's logarithm, for numerical derivatives
constexpr double kFloor = 1e-3;   // least value of constants that may be zero
constexpr int kIterations = 40, kHalvings = 6;
constexpr double kSettled = 1e-4;  // relative fall of the sum at which a fit ends

using C = TrainingConstant;

using Iterations = std::vector<MeasuredIteration>;

// The unknowns of the fit: the logarithms of the factors of all groups, with their priors.
struct Problem {
  double noise = 1;
  std::vector<double> theta, mean, sigma;  // [group * constants + constant]
  std::size_t size() const { return theta.size(); }
};

double log_of(double factor) { return std::log(std::max(factor, kFloor)); }

TrainingConstants constants_at(const Problem& p, const MeasuredIteration& item) {
  TrainingConstants k;
  for (std::size_t i = 0; i < kTrainingConstants; ++i) {
    double sum = 0;
    for (const auto& [g, power] : item.groups) sum += power * p.theta[g * kTrainingConstants + i];
    const TrainingConstantProperties& f = properties(static_cast<C>(i));
    k.value[i] = std::clamp(item.fixed[i] * std::exp(sum), f.least, f.most);
  }
  return k;
}

double loss_of(double error) {
  const double a = std::abs(error);
  if (a > kOutlier) return log_tailed(error, kOutlier);
  return a < kSmooth ? a * a / (2 * kSmooth) : a - kSmooth / 2;
}

// The weight with which the square of an error has the gradient of loss_of.
double pull_of(double error) {
  const double a = std::abs(error);
  if (a > kOutlier) return kOutlier / (a * a);
  return 1 / std::max(a, kSmooth);
}

double total_loss(const Problem& p, const Iterations& items) {
  double sum = 0;
  for (const MeasuredIteration& item : items)
    sum += item.weight / p.noise * loss_of(item.error(constants_at(p, item)));
  for (std::size_t j = 0; j < p.size(); ++j) {
    const double d = (p.theta[j] - p.mean[j]) / p.sigma[j];
    sum += d * d / 2;
  }
  return sum;
}

// Solves a x = b in place, for a symmetric positive definite matrix that is stored row by row.
void solve(std::vector<double>& a, std::vector<double>& b) {
  const std::size_t n = b.size();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = a[i * n + j];
      for (std::size_t k = 0; k < j; ++k) sum -= a[i * n + k] * a[j * n + k];
      a[i * n + j] = i == j ? std::sqrt(sum) : sum / a[j * n + j];
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) b[i] -= a[i * n + k] * b[k];
    b[i] /= a[i * n + i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) b[i] -= a[k * n + i] * b[k];
    b[i] /= a[i * n + i];
  }
}

// The Gauss-Newton step.
std::vector<double> step_of(const Problem& p, const Iterations& items) {
  const std::size_t n = p.size();
  std::vector<double> a(n * n, 0), b(n, 0);
  for (std::size_t j = 0; j < n; ++j) {
    const double weight = 1 / (p.sigma[j] * p.sigma[j]);
    a[j * n + j] = weight;
    b[j] = -weight * (p.theta[j] - p.mean[j]);
  }
  for (const MeasuredIteration& item : items) {
    const TrainingConstants k = constants_at(p, item);
    const double error = item.error(k), w = item.weight / p.noise * pull_of(error);
    std::vector<std::pair<std::size_t, double>> slopes;
    for (std::size_t i = 0; i < kTrainingConstants; ++i) {
      const TrainingConstantProperties& f = properties(static_cast<C>(i));
      TrainingConstants moved = k;
      moved.value[i] = k.value[i] * std::exp(kStep);
      if (moved.value[i] > f.most) continue;
      const double slope = (item.error(moved) - error) / kStep;
      if (slope == 0) continue;
      for (const auto& [g, power] : item.groups)
        slopes.emplace_back(g * kTrainingConstants + i, power * slope);
    }
    for (const auto& [j, s] : slopes) {
      b[j] -= w * s * error;
      for (const auto& [l, t] : slopes) a[j * n + l] += w * s * t;
    }
  }
  solve(a, b);
  return b;
}

void minimise(Problem& p, const Iterations& items) {
  double best = total_loss(p, items);
  for (int round = 0; round < kIterations; ++round) {
    const std::vector<double> step = step_of(p, items);
    const std::vector<double> from = p.theta;
    double scale = 1, loss = best;
    for (int h = 0; h < kHalvings; ++h, scale /= 2) {
      for (std::size_t j = 0; j < p.size(); ++j) p.theta[j] = from[j] + scale * step[j];
      loss = total_loss(p, items);
      if (loss < best) break;
    }
    if (loss >= best) {
      p.theta = from;
      return;
    }
    const bool settled = best - loss < kSettled * best;
    best = loss;
    if (settled) return;
  }
}

}  // namespace

double MeasuredIteration::error(const TrainingConstants& constants) const {
  return std::log(iteration_time(*parts, constants, *job).total / time);
}

std::vector<ConstantValues> fit_factors(const Iterations& iterations,
                                        const std::vector<FactorGroup>& groups, double noise) {
  Problem p;
  p.noise = noise;
  for (const FactorGroup& group : groups) {
    for (std::size_t i = 0; i < kTrainingConstants; ++i) {
      p.mean.push_back(log_of(group.mean[i]));
      p.sigma.push_back(group.sigma[i]);
    }
  }
  p.theta = p.mean;
  minimise(p, iterations);
  std::vector<ConstantValues> factors(groups.size());
  for (std::size_t j = 0; j < p.size(); ++j)
    factors[j / kTrainingConstants][j % kTrainingConstants] = std::exp(p.theta[j]);
  return factors;
}

}  // namespace orrery
