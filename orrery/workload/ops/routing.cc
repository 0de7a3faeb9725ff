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
// Where the busiest experts alone matter.
constexpr std::size_t kFineNodes = 64;

// The chance that one token picks an expert, over the law of loads: chances with their weights.
template <std::size_t kNodes>
struct Chances {
  std::array<double, kNodes> chance, weight;
};

template <std::size_t kNodes>
Chances<kNodes> chances(double tokens, double mean, double skew) {
  Chances<kNodes> c;
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

// The busiest of `groups` groups over the mean, where loads are log-normal with this relative
// variance: it lies at Blom's expected rank (groups - 3/8) / (groups + 1/4) (Blom, "Statistical
// estimates and transformed beta-variables", 1958).
double busiest_of(double groups, double variance) {
  const double sigma = std::sqrt(std::log1p(variance));
  const double z = normal_quantile((groups - 0.375) / (groups + 0.25));
  return std::exp(sigma * z - sigma * sigma / 2);
}

// Relative variance of the load of a group by the draw of tokens alone.
double variance_of_draw(double tokens, double picks, double mean, double groups) {
  return (groups - 1) / (tokens * picks) * (1 - mean);
}

// The largest load of a copy if `redundant` copies are made of experts of these chances: the lowest
// level for which whole copies suffice, sum (ceil(chance / level) - 1) <= redundant.
double level_of_copies(const Chances<kFineNodes>& c, double experts, double redundant) {
  constexpr int kSteps = 24;  // halvings of the range of levels
  double low = 0, high = c.chance.back();
  for (int step = 0; step < kSteps; ++step) {
    const double level = (low + high) / 2;
    double needed = 0;
    for (std::size_t i = kFineNodes; i-- > 0 && c.chance[i] > level;)
      needed += experts * c.weight[i] * (std::ceil(c.chance[i] / level) - 1);
    (needed <= redundant ? high : low) = level;
  }
  return high;
}

}  // namespace

double expected_active_experts(std::int64_t tokens, int experts, int top_k, double skew) {
  const double n = real(tokens);
  if (tokens < 1) return 0;
  if (top_k >= experts) return experts;
  const double mean = real(top_k) / experts;
  if (skew == 0) return experts * reached(mean, n);
  const auto c = chances<kNodes>(n, mean, skew);
  double share = 0;
  for (std::size_t i = 0; i < kNodes; ++i) share += c.weight[i] * reached(c.chance[i], n);
  return experts * share;
}

// The groups' loads are taken as log-normal with the variance of a sum of experts/ep loads plus
// that of the draw of tokens.
double expert_imbalance(std::int64_t tokens, int experts, int top_k, int ep, double skew) {
  if (ep <= 1 || tokens < 1) return 1;
  const double n = real(tokens), k = std::min(top_k, experts), groups = ep;
  const double mean = k / experts, here = real(experts) / groups;
  double variance = 0;  // of an expert's chance
  if (skew != 0 && top_k < experts) {
    const auto c = chances<kNodes>(n, mean, skew);
    for (std::size_t i = 0; i < kNodes; ++i) variance += c.weight[i] * c.chance[i] * c.chance[i];
    variance = std::max(0.0, variance - mean * mean);
  }
  const double by_loads = variance / (here * mean * mean) * (1 - 1 / groups);
  const double busiest = busiest_of(groups, by_loads + variance_of_draw(n, k, mean, groups));
  // At least one pick lands somewhere; a token sends at most min(top_k, experts here) picks to one
  // group.
  const double least = std::max(1.0, groups / (n * k));
  const double most = groups * std::min(1.0, here / k);
  return std::clamp(busiest, least, std::max(least, most));
}

double eplb_imbalance(std::int64_t tokens, const Routing& r, int redundant, int ep) {
  const double without = expert_imbalance(tokens, r.experts, r.top_k, ep, r.skew);
  if (ep <= 1 || tokens < 1 || r.top_k >= r.experts) return without;
  const double n = real(tokens), groups = ep, mean = real(r.top_k) / r.experts;
  const double drawn = busiest_of(groups, variance_of_draw(n, r.top_k, mean, groups));
  double placed = 1;
  if (r.skew != 0) {
    const auto c = chances<kFineNodes>(n, mean, r.skew);
    const double experts = r.experts, copies = experts + redundant;
    const double level = level_of_copies(c, experts, redundant);
    const double of_rank = r.top_k / groups;  // mean picks of a token on a rank
    placed = (level + (copies / groups - 1) * c.chance[0]) / of_rank;
  }
  return std::min(without, std::max({1.0, drawn, placed}));
}

}  // namespace orrery
