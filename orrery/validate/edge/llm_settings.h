// The settings of the fit of LLMs' laws (llm_law_fit.h), chosen by what a fit misses of rows that
// it leaves out.
//
// The defaults of LlmFitSettings and of llm_law.cc were chosen once for all folds, by errors of
// folds inside them; each row of the table was in some of these folds, so that figures of the
// defaults flatter. Here the choice is made by some rows alone. It begins at the first value of
// each choice, which are the settings before the defaults were sought, and takes one choice after
// the other, twice.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "orrery/validate/edge/llm_law_fit.h"

namespace orrery {

// One setting and the values that it may have: "noise", "huber", "group power", or the name of a
// strength (LlmStrengths). The first value is the one to begin with.
struct LlmChoice {
  std::string name;
  std::vector<double> values;
};

// All that is chosen for a phase. One of the values of each choice is the default.
const std::vector<LlmChoice>& llm_choices(LlmPhase phase);

// Settings that were tried, and the error of rows left out: the mean of the quantiles 0.3 to 0.7 of
// the relative errors plus 0.4 times their mean, in which no row counts above 5.
struct LlmTried {
  LlmFitSettings settings;
  double error = 0;
};
double llm_left_out_error(const std::vector<double>& off);

// All settings that were tried, the best first, a few of them twice. Another value of a choice is
// taken where it lowers the error by 0.0003 or more. Rows that `seen` does not admit have no part
// in it. `block` is that of fit_llm_blocks().
std::vector<LlmTried> try_llm_settings(const std::vector<LlmRow>& rows, LlmPhase phase,
                                       const std::function<bool(const LlmRow&)>& seen,
                                       const std::function<unsigned(const LlmRow&)>& block,
                                       const std::vector<LlmChoice>& choices);

}  // namespace orrery
