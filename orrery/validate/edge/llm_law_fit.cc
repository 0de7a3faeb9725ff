#include "orrery/validate/edge/llm_law_fit.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <map>

#include "orrery/base/fit.h"
#include "orrery/base/quantile.h"

namespace orrery {
namespace {

constexpr double kNoise = 0.05;  // of a rate
constexpr double kHuberLimit = 2;
constexpr int kSteps = 100;
constexpr double kLongest = 0.7, kConverged = 2e-3;

// Effect `index` on term `term` with its factor.
struct Pull {
  Eigen::Index index = 0;
  std::size_t term = 0;
  double times = 1;
};

struct Fitted {
  const LlmRow* row = nullptr;
  std::vector<Pull> pulls;
};

struct Rate {
  TokensPerSecond value;
  LlmCosts slopes{};  // of the logarithm, by the costs' logarithms, with the sign turned
};

Rate rate_of(const LlmCosts& costs, const LlmRow& row) {
  Rate rate;
  LlmCosts sums{};  // tokens a second
  for (const LlmTimes& times : row.cases) {
    const LlmTimes terms = llm_terms(costs, times);
    const Seconds whole = total(terms);
    const TokensPerSecond each = token_rate(1, whole);
    rate.value += each;
    for (std::size_t t = 0; t < kLlmTerms; ++t)
      sums[t] += costs[t] * (times[t] / whole) * each.value();
  }
  for (std::size_t t = 0; t < kLlmTerms; ++t) rate.slopes[t] = sums[t] / rate.value.value();
  rate.value /= double(row.cases.size());
  return rate;
}

}  // namespace

TokensPerSecond llm_rate(const LlmLaw& law, const LlmRow& row) {
  return rate_of(law.costs(row.setting), row).value;
}

LlmLaw fit_llm_law(const std::vector<LlmRow>& rows, LlmPhase phase,
                   const std::function<bool(const LlmRow&)>& seen) {
  std::map<std::string, Eigen::Index> names;
  std::vector<double> means, deviations;
  std::vector<Fitted> fitted;
  for (const LlmRow& row : rows) {
    if (row.prefill != (phase == LlmPhase::kPrefill) || !row.fit.fits() || !seen(row)) continue;
    Fitted f{&row, {}};
    for (std::size_t t = 0; t < kLlmTerms; ++t) {
      for (const LlmEffect& e : llm_effects(phase, static_cast<LlmTerm>(t), row.setting)) {
        const auto [at, added] = names.try_emplace(e.name, Eigen::Index(means.size()));
        if (added) means.push_back(e.mean), deviations.push_back(e.deviation);
        f.pulls.push_back({at->second, t, e.times});
      }
    }
    fitted.push_back(std::move(f));
  }
  const Eigen::Map<const Eigen::VectorXd> mean(means.data(), Eigen::Index(means.size()));
  const Eigen::VectorXd stiffness =
      Eigen::Map<const Eigen::ArrayXd>(deviations.data(), mean.size()).square().inverse();
  Eigen::VectorXd at = mean;
  for (int step = 0; step < kSteps; ++step) {
    Eigen::MatrixXd curvature = stiffness.asDiagonal();
    Eigen::VectorXd pull = -stiffness.cwiseProduct(at - mean);
    for (const Fitted& f : fitted) {
      LlmCosts costs{};
      for (const Pull& p : f.pulls) costs[p.term] += p.times * at[p.index];
      std::array<bool, kLlmTerms> there{};
      for (const Pull& p : f.pulls) there[p.term] = true;
      for (std::size_t t = 0; t < kLlmTerms; ++t) costs[t] = there[t] ? std::exp(costs[t]) : 0;
      const Rate rate = rate_of(costs, *f.row);
      const double off = std::log(rate.value / f.row->measured);
      const double weight = huber_weight(off / kNoise, kHuberLimit) / (kNoise * kNoise);
      for (const Pull& a : f.pulls) {
        const double slope = a.times * rate.slopes[a.term];
        pull[a.index] += weight * off * slope;
        for (const Pull& b : f.pulls) {
          if (b.index <= a.index)
            curvature(a.index, b.index) += weight * slope * b.times * rate.slopes[b.term];
        }
      }
    }
    Eigen::VectorXd move = curvature.selfadjointView<Eigen::Lower>().ldlt().solve(pull);
    const double longest = move.cwiseAbs().maxCoeff();
    if (longest > kLongest) move *= kLongest / longest;
    at += move;
    if (longest < kConverged) break;
  }
  LlmLaw law;
  law.phase = phase;
  for (const auto& [name, index] : names) law.effects[name] = at[index];
  return law;
}

double llm_deviation(std::vector<double> logarithms) {
  constexpr double kLeast = 0.03, kOneDeviation = 0.6827;
  if (logarithms.empty()) return kLeast;
  for (double& x : logarithms) x = std::abs(x);
  std::sort(logarithms.begin(), logarithms.end());
  return std::max(kLeast, quantile(logarithms, kOneDeviation));
}

}  // namespace orrery
