// Fits a law of LLMs on measured rates (edge/llm/llm_law.h): the most likely effects, each a normal
// one around its mean before measurements, by damped steps of Gauss and Newton.
//
// A row pulls as Huber's loss lets it, because some sources are off by several times: a board that
// a virtual machine shares, weights that a driver keeps in the host's memory. Beyond 1.25 %
// (`huber` times `noise`) the loss is the absolute error of the logarithm, so that effects are
// medians of rows. n rows of one device and model weigh as much as n^0.6 rows (`group_power`): what
// a law misses of the pair misses all of them. The noise, the limit and the power were chosen by
// inner folds (docs/lab/2026-11-edge.md).
#pragma once

#include <functional>
#include <vector>

#include "orrery/validate/edge/llm_rows.h"

namespace orrery {

struct LlmFitSettings {
  double noise = 0.025;      // of a rate
  double huber = 0.5;        // the limit of Huber's loss, in units of the noise
  double group_power = 0.4;  // a row of a pair with n rows has the weight n^-group_power
  LlmStrengths strengths;    // of effects, where they are not the defaults

  bool operator==(const LlmFitSettings&) const = default;
};

// Fits on the rows of the phase that fit into memory and that `seen` admits. The deviations of the
// law are left at their defaults.
LlmLaw fit_llm_law(const std::vector<LlmRow>& rows, LlmPhase phase,
                   const std::function<bool(const LlmRow&)>& seen,
                   const LlmFitSettings& settings = {});

// One fit, and what each of its rows is off by where the rows of its block are left out.
struct LlmLeftOut {
  LlmLaw law;
  std::vector<double> off;  // logarithms of predicted over measured rates
};

// Fits as fit_llm_law() does, and leaves out the rows of one block at a time without another fit:
// rates are taken as linear in the effects around the fit, and the pulls of the other rows as they
// are there. `block` numbers a row's block, from 0. The steps begin at `start`, where it has the
// effect.
LlmLeftOut fit_llm_blocks(const std::vector<LlmRow>& rows, LlmPhase phase,
                          const std::function<bool(const LlmRow&)>& seen,
                          const LlmFitSettings& settings,
                          const std::function<unsigned(const LlmRow&)>& block,
                          const LlmEffects& start);

// The rate of a row, the mean over its cases.
TokensPerSecond llm_rate(const LlmLaw& law, const LlmRow& row);

// The deviation within which 68 % of rows lie, of logarithms of predicted over measured rates.
double llm_deviation(std::vector<double> logarithms);

}  // namespace orrery
