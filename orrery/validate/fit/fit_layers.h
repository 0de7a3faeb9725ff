// `orrery fit layers`: writes measured layers of an engine as files that layer_times.h reads.
//
// The rows are LLMServingSim's (vLLM 0.19) in data/layers. layers.csv.gz gives projections, norms,
// rotary embedding, activation, embedding, LM head and sampler. attention_mixed.csv.gz gives
// attention of steps that only decode and of steps that only compute one prompt. Times are copied;
// no parameter is fitted.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "orrery/base/bundle.h"

namespace orrery {

// Paths below catalog/ ("layers/rtx-4090.txt") and the text of each file. `date` is written into
// the recipe.
std::vector<std::pair<std::string, std::string>> fit_layers(const std::filesystem::path& dir,
                                                            const std::string& date,
                                                            const Bundle& bundle);

}  // namespace orrery
