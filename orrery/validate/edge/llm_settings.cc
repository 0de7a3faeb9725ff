#include "orrery/validate/edge/llm_settings.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "orrery/base/quantile.h"

namespace orrery {
namespace {

void set(LlmFitSettings& settings, const std::string& name, double value) {
  if (name == "noise")
    settings.noise = value;
  else if (name == "huber")
    settings.huber = value;
  else if (name == "group power")
    settings.group_power = value;
  else
    settings.strengths[name] = value;
}

}  // namespace

const std::vector<LlmChoice>& llm_choices(LlmPhase phase) {
  static const std::vector<LlmChoice> kPrefill = {
      {"huber", {2, 1, 0.5}},
      {"group power", {0, 0.4, 0.6}},
      {"noise", {0.05, 0.025, 0.08}},
      {"overlap", {1, 2.5, 4, 0.6}},
      {"start", {1, 2, 0.6}},
      {"padding", {2, 4, 1}},
      {"unpack", {0, 3}},
      {"attention packed+backend", {0, 0.3}},
      {"product heat", {0, 0.6}},
      {"product size+kernels", {0, 0.2}},
      {"product size", {0.3, 0.15, 0.6}},
      {"product chip", {0.2, 0.1, 0.4}},
      {"product chip+backend+kernels", {0.3, 0.15, 0}},
      {"product chip+backend+runtime", {0.4, 0.28, 0.55}},
      {"product family", {0.4, 0.2, 0.7}},
      {"product vendor+kernels", {0.3, 0.15, 0.6}},
      {"product family+kernels", {0.25, 0.125, 0.5}},
      {"product backend+kernels", {0.3, 0.15, 0.6}},
      {"product mixture", {0.6, 0.3, 1.2}},
      {"product mixture+backend", {0.4, 0.2, 0.7}},
      {"product mixture+kernels", {0.4, 0.2, 0.8}},
      {"product runtime", {0.4, 0.2, 0.8}},
      {"product vendor+runtime", {0.3, 0.15, 0.6}},
      {"product backend", {0.6, 0.3, 1.2}},
      {"product family+backend", {0.4, 0.2, 0.7}}};
  static const std::vector<LlmChoice> kDecode = {
      {"huber", {2, 1, 0.5}},
      {"group power", {0, 0.4, 0.6}},
      {"noise", {0.05, 0.025, 0.08}},
      {"weights model+backend", {0, 0.1}},
      {"start backend+runtime", {0, 0.4}},
      {"start mixture", {0, 0.5}},
      {"weights size+backend", {0, 0.2}},
      {"weights bandwidth+vendor", {0, 0.4}},
      {"weights intensity+vendor", {0, 0.4}},
      {"weights family", {0.6, 0.3, 1.2}},
      {"weights kernels", {0.8, 0.4, 1.6}},
      {"weights family+runtime", {0.6, 0.3, 1.2}},
      {"weights chip+backend+kernels", {0.6, 0.3, 0, 1.2}}};
  return phase == LlmPhase::kPrefill ? kPrefill : kDecode;
}

double llm_left_out_error(const std::vector<double>& off) {
  constexpr double kMost = 5, kPullOfMean = 0.4;
  constexpr std::array kQuantiles = {0.3, 0.4, 0.5, 0.6, 0.7};
  if (off.empty()) return 0;
  std::vector<double> errors;
  double sum = 0, middle = 0;
  for (const double x : off) errors.push_back(std::min(kMost, std::abs(std::expm1(x))));
  for (const double e : errors) sum += e;
  std::sort(errors.begin(), errors.end());
  for (const double q : kQuantiles) middle += quantile(errors, q);
  return middle / double(kQuantiles.size()) + kPullOfMean * sum / double(errors.size());
}

std::vector<LlmTried> try_llm_settings(const std::vector<LlmRow>& rows, LlmPhase phase,
                                       const std::function<bool(const LlmRow&)>& seen,
                                       const std::function<unsigned(const LlmRow&)>& block,
                                       const std::vector<LlmChoice>& choices) {
  constexpr double kLeastGain = 3e-4;
  constexpr int kRounds = 2;
  std::vector<LlmTried> tried;
  LlmEffects effects;  // of the best settings, where the next fits begin
  const auto attempt = [&](const LlmFitSettings& settings) {
    LlmLeftOut fit = fit_llm_blocks(rows, phase, seen, settings, block, effects);
    tried.push_back({settings, llm_left_out_error(fit.off)});
    return std::move(fit.law.effects);
  };
  LlmFitSettings best;
  for (const LlmChoice& c : choices) set(best, c.name, c.values.front());
  effects = attempt(best);
  double error = tried.front().error;
  for (int round = 0; round < kRounds; ++round) {
    const LlmFitSettings at_start = best;
    for (const LlmChoice& c : choices) {
      const LlmFitSettings before = best;
      LlmEffects of_best = effects;
      for (const double value : c.values) {
        LlmFitSettings other = before;
        set(other, c.name, value);
        if (other == before) continue;
        LlmEffects own = attempt(other);
        if (tried.back().error > error - kLeastGain) continue;
        best = std::move(other), error = tried.back().error, of_best = std::move(own);
      }
      effects = std::move(of_best);
    }
    if (best == at_start) break;
  }
  std::stable_sort(tried.begin(), tried.end(),
                   [](const LlmTried& a, const LlmTried& b) { return a.error < b.error; });
  return tried;
}

}  // namespace orrery
