// `orrery fit layers`: measured layers of an engine as files of layer_times.h.
//
// From data/layers, the rows of LLMServingSim (vLLM 0.19): projections, norms, rotary embedding,
// activation, embedding, LM head and sampler of layers.csv.gz; attention that only decodes, or only
// computes one prompt, of attention_mixed.csv.gz. Times are taken as they are; nothing is fitted on
// whole services.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "orrery/base/bundle.h"

namespace orrery {

// Texts to be written below catalog/: "layers/rtx-4090.txt". `date` goes into the recipe.
std::vector<std::pair<std::string, std::string>> fit_layers(const std::filesystem::path& dir,
                                                            const std::string& date,
                                                            const Bundle& bundle);

}  // namespace orrery
