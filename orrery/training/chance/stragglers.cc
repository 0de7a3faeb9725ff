#include "orrery/training/chance/stragglers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "orrery/base/estimate.h"

namespace orrery {
namespace {

constexpr std::size_t kKept = 8;

// Nodes and weights of the Gauss-Legendre rule on [-1, 1].
template <std::size_t kNodes>
struct Rule {
  std::array<double, kNodes> x{}, weight{};

  Rule() {
    const auto n = static_cast<double>(kNodes);
    for (std::size_t i = 0; i < kNodes; ++i) {
      double root = std::cos(std::numbers::pi * (static_cast<double>(i) + 0.75) / (n + 0.5));
      double slope = 0;
      for (int iteration = 0; iteration < 10; ++iteration) {
        double p = 1, before = 0;
        for (std::size_t k = 1; k <= kNodes; ++k) {
          const auto j = static_cast<double>(k);
          before = std::exchange(p, ((2 * j - 1) * root * p - (j - 1) * before) / j);
        }
        slope = n * (root * p - before) / (root * root - 1);
        root -= p / slope;
      }
      x[i] = root;
      weight[i] = 2 / ((1 - root * root) * slope * slope);
    }
  }
};

// Calls f(x, weight): the sum of weight * g(x) is the integral of g.
template <std::size_t kNodes, class F>
void for_nodes(double from, double to, F f) {
  static const Rule<kNodes> rule;
  const double half = (to - from) / 2, middle = (to + from) / 2;
  for (std::size_t i = 0; i < kNodes; ++i) f(middle + half * rule.x[i], half * rule.weight[i]);
}

double upper_tail(double z) { return std::erfc(z / std::numbers::sqrt2) / 2; }

// The value above which a standard normal variable is with probability q.
double tail_quantile(double q) { return -normal_quantile(std::clamp(q, 1e-300, 1 - 1e-16)); }

// The logarithm of the slowest rank's factor in a step, given the largest Z of the run.
struct Slowest {
  double gpu = 0, step = 0;
  double others = 0;  // number of ranks whose Z is below the smallest one in `z`
  std::size_t kept = 0;
  std::array<double, kKept> z{};  // largest first

  double cdf(double x) const {
    double log_cdf = 0;
    for (std::size_t i = 0; i < kept; ++i)
      log_cdf += std::log1p(-upper_tail((x - gpu * z[i]) / step));
    if (others > 0) log_cdf += others * std::log1p(-std::min(1.0, other_tail(x)));
    return std::exp(log_cdf);
  }

  // Probability that one of the other ranks is slower than x.
  double other_tail(double x) const {
    if (kept == 0 || gpu == 0) return upper_tail(x / std::hypot(gpu, step));
    const double variance = gpu * gpu + step * step, limit = z[kept - 1];
    // The Z of a rank at x has mean `typical` and standard deviation `width`.
    const double typical = x * gpu / variance, width = step / std::sqrt(variance);
    const double to = std::min(limit, typical + 8 * std::max(width, 1 / std::max(typical, 1.0)));
    const double from = std::min(typical, to) - 8 * width;
    double above = 0;
    for_nodes<12>(from, to, [&](double value, double weight) {
      above += weight * upper_tail((x - gpu * value) / step) * std::exp(-value * value / 2);
    });
    return above / std::sqrt(2 * std::numbers::pi) / (1 - upper_tail(limit));
  }

  // Mean and standard deviation of exp(X).
  RunFactor factor() const {
    const double ranks = others + static_cast<double>(kept);
    const double top = kept > 0 ? gpu * z[0] : 0;
    const double spread = kept > 0 ? step : std::hypot(gpu, step);
    constexpr double kCut = 1e-7;
    const double lowest = top - 8 * spread;
    const double highest = top + spread * tail_quantile(kCut / ranks);
    const auto where = [&](double p) {
      double low = lowest, high = highest;
      for (int i = 0; i < 6; ++i) {
        const double middle = (low + high) / 2;
        (cdf(middle) < p ? low : high) = middle;
      }
      return std::pair{low, high};
    };
    const double from = where(kCut).first, to = where(1 - kCut).second;
    // E f(X) = f(from) + integral of f' (1 - F). The second moment is taken about exp(from).
    const double base = std::exp(from);
    double first = 0, second = 0;
    for_nodes<20>(from, to, [&](double x, double weight) {
      const double above = weight * std::exp(x) * (1 - cdf(x));
      first += above;
      second += 2 * (std::exp(x) - base) * above;
    });
    return {base + first, std::sqrt(std::max(0.0, second - first * first))};
  }
};

}  // namespace

Variability combined(std::span<const OpVariability> ops) {
  double gpu = 0, step = 0;
  for (const OpVariability& op : ops) {
    gpu += op.share * op.one.gpu * op.share * op.one.gpu;
    step += op.share * op.one.step * op.share * op.one.step / op.calls;
  }
  return {std::sqrt(gpu), std::sqrt(step)};
}

double slowest_quantile(std::int64_t ranks, double sigma, double p) {
  return std::exp(sigma * tail_quantile(-std::expm1(std::log(p) / static_cast<double>(ranks))));
}

double slowest_mean(std::int64_t ranks, double sigma) {
  if (sigma == 0) return 1;
  Slowest slowest;
  slowest.step = sigma;
  slowest.others = static_cast<double>(ranks);
  return slowest.factor().mean;
}

RunFactor random_run_factor(std::int64_t ranks, const Variability& v, RandomStream& random) {
  Slowest slowest;
  slowest.gpu = v.gpu;
  slowest.step = v.step;
  slowest.kept = static_cast<std::size_t>(std::min<std::int64_t>(ranks, kKept));
  slowest.others = static_cast<double>(ranks) - static_cast<double>(slowest.kept);
  // Draws uniform order statistics from the largest downwards. The negative logarithm of each is
  // that of the one before, plus an exponential variable divided by the number of values left
  // (Renyi).
  double minus_log = 0;
  for (std::size_t i = 0; i < slowest.kept; ++i) {
    minus_log += random.exponential() / (static_cast<double>(ranks) - static_cast<double>(i));
    slowest.z[i] = tail_quantile(-std::expm1(-minus_log));
  }
  if (v.step == 0) return {std::exp(v.gpu * slowest.z[0]), 0};
  return slowest.factor();
}

}  // namespace orrery
