// `orrery validate layers`: predicted ops against measured layers of a running engine.
#pragma once

#include <filesystem>
#include <string>

#include "orrery/base/bundle.h"
#include "orrery/validate/report/report.h"

namespace orrery {

// Predicts the rows of the tables layers and attention_mixed in `dir` (data/layers), or of the one
// named by `table`, with the kernels of the engine profile vllm. `by` of a row holds `fitted`: yes
// for norms, activations and rotary embedding of the source LLMServingSim, which fitted the
// elementwise surface (kernel/fit/elementwise_fit.h), and for decode attention in the same call as
// a prefill, which fitted a factor.
//
// A row of attention_mixed is one call over a prefill chunk and decoding sequences. The prediction
// is the sum of two calls, as in a step.
ValidationReport validate_layers(const std::filesystem::path& dir, const std::string& table,
                                 const Bundle& bundle);

}  // namespace orrery
