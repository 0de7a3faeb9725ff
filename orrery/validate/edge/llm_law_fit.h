// Fits a law of LLMs on measured rates (edge/llm/llm_law.h): the most likely effects, each a normal
// one around its mean before measurements, by damped steps of Gauss and Newton.
//
// A row pulls as Huber's loss lets it, because some sources are off by several times: a board that
// a virtual machine shares, weights that a driver keeps in the host's memory. Beyond 1.25 %
// (kHuberLimit of kNoise) the loss is the absolute error of the logarithm, so that effects are
// medians of rows. n rows of one device and model weigh as much as n^0.6 rows (kGroupPower): what a
// law misses of the pair misses all of them. The noise, the limit and the power were chosen by
// inner folds (docs/lab/2026-11-edge.md).
#pragma once

#include <functional>
#include <vector>

#include "orrery/validate/edge/llm_rows.h"

namespace orrery {

// Fits on the rows of the phase that fit into memory and that `seen` admits. The deviations of the
// law are left at their defaults.
LlmLaw fit_llm_law(const std::vector<LlmRow>& rows, LlmPhase phase,
                   const std::function<bool(const LlmRow&)>& seen);

// The rate of a row, the mean over its cases.
TokensPerSecond llm_rate(const LlmLaw& law, const LlmRow& row);

// The deviation within which 68 % of rows lie, of logarithms of predicted over measured rates.
double llm_deviation(std::vector<double> logarithms);

}  // namespace orrery
