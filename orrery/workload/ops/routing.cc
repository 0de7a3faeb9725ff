// How tokens spread over experts.
//
// The load of an expert is drawn from a power law of density x^-skew between 1 and 1 + 0.8 *
// tokens, then normalised (the recipe of the measured MoE tables: the more tokens, the wider the
// loads). Every token picks top_k different experts; an expert is picked with a probability
// proportional to its load, at most 1. The law is represented by kNodes loads at equal steps of log
// x, so that both functions are deterministic and cost some hundred nanoseconds at most.
#include <algorithm>
#include <array>
#include <cmath>

#include "orrery/base/estimate.h"
#include "orrery/workload/ops/op.h"

namespace orrery {
namespace {

constexpr std::size_t kNodes = 8;

// The chance that one token picks an expert, over the law of loads: kNodes chances with their
// weights.
struct Chances {
  std::array<double, kNodes> chance, weight;
};

Chances chances(double tokens, double mean, double skew) {
  Chances c;
  const double step = std::log1p(0.8 * tokens) / real(kNodes);
  const double load_ratio = std::exp(step), weight_ratio = std::exp((1 - skew) * step);
  double load = std::sqrt(load_ratio), weight = 1, weights = 0;
  for (std::size_t i = 0; i < kNodes; ++i, load *= load_ratio, weight *= weight_ratio) {
    c.chance[i] = load;
    c.weight[i] = weight;
    weights += weight;
  }
  for (double& w : c.weight) w /= weights;
  // Loads grow with the index: the last ones reach the bound of 1 first, the rest share what is
  // left.
  std::size_t free = kNodes;
  double left = mean;
  while (free > 0) {
    double sum = 0;
    for (std::size_t i = 0; i < free; ++i) sum += c.weight[i] * c.chance[i];
    const double scale = left / sum;
    if (scale * c.chance[free - 1] <= 1) {
      for (std::size_t i = 0; i < free; ++i) c.chance[i] *= scale;
      break;
    }
    --free;
    c.chance[free] = 1;
    left -= c.weight[free];
  }
  return c;
}

// Expected number of picks that miss nothing: 1 - (1 - p)^tokens.
double reached(double chance, double tokens) {
  if (chance >= 1 || chance * tokens > 40) return 1;
  const double missed = tokens * std::log1p(-chance);
  return missed > -0.01 ? -std::expm1(missed)
                        : 1 - std::exp(missed);  // exp is the faster where it is exact enough
}

}  // namespace

double expected_active_experts(std::int64_t tokens, int experts, int top_k, double skew) {
  const double n = real(tokens);
  if (tokens < 1) return 0;
  if (top_k >= experts) return experts;
  const double mean = real(top_k) / experts;
  if (skew == 0) return experts * reached(mean, n);
  const Chances c = chances(n, mean, skew);
  double share = 0;
  for (std::size_t i = 0; i < kNodes; ++i) share += c.weight[i] * reached(c.chance[i], n);
  return experts * share;
}

// The groups' loads are taken as log-normal with the variance of a sum of experts/ep loads plus
// that of the draw of tokens; the busiest of ep groups lies at Blom's expected rank (ep - 3/8) /
// (ep + 1/4) of it (Blom, "Statistical estimates and transformed beta-variables", 1958).
double expert_imbalance(std::int64_t tokens, int experts, int top_k, int ep, double skew) {
  if (ep <= 1 || tokens < 1) return 1;
  const double n = real(tokens), k = std::min(top_k, experts), groups = ep;
  const double mean = k / experts, here = real(experts) / groups;
  double variance = 0;  // of an expert's chance
  if (skew != 0 && top_k < experts) {
    const Chances c = chances(n, mean, skew);
    for (std::size_t i = 0; i < kNodes; ++i) variance += c.weight[i] * c.chance[i] * c.chance[i];
    variance = std::max(0.0, variance - mean * mean);
  }
  const double by_loads = variance / (here * mean * mean) * (1 - 1 / groups);
  const double by_draw = (groups - 1) / (n * k) * (1 - mean);
  const double sigma = std::sqrt(std::log1p(by_loads + by_draw));
  const double z = normal_quantile((groups - 0.375) / (groups + 0.25));
  // At least one pick lands somewhere; a token sends at most min(top_k, experts here) picks to one
  // group.
  const double least = std::max(1.0, groups / (n * k));
  const double most = groups * std::min(1.0, here / k);
  return std::clamp(std::exp(sigma * z - sigma * sigma / 2), least, std::max(least, most));
}

}  // namespace orrery
