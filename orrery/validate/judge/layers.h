// `orrery validate layers`: the first link of a step, single layers inside engines against the ops
// that a program has for them.
#pragma once

#include <filesystem>
#include <string>

#include "orrery/base/bundle.h"
#include "orrery/validate/report/report.h"

namespace orrery {

// Predicts every row of the tables layers and attention_mixed in `dir` (or of the one named by
// `table`); layout: data/layers. Kernels are those of the engine profile vllm. `fitted: yes` stands
// at what these rows fitted: norms, activations and rotary embedding of the source LLMServingSim
// (kernel/elementwise_fit.h), and the factor on decode attention beside a prefill.
//
// A row of attention_mixed is one call over a prefill chunk and decodes together; the prediction is
// the sum of two calls, as a step has them.
ValidationReport validate_layers(const std::filesystem::path& dir, const std::string& table,
                                 const Bundle& bundle);

}  // namespace orrery
