// Chips of cores against the measurements that LLMCompass publishes.
#pragma once

#include <filesystem>

#include "orrery/base/bundle.h"
#include "orrery/validate/report/report.h"

namespace orrery {

// Adds the rows of llmcompass_measured.csv, predicted from the bundled chips a100-like and
// mi210-like: operators and parts of layers with the launch times that LLMCompass states for its
// host, on operands that are repeated as its measuring loop repeats them; layers as the sum of
// their rows; areas. Peers: LLMCompass' own predictions and its roofline.
void judge_llmcompass(const std::filesystem::path& file, const Bundle& bundle,
                      ValidationReport& report);

}  // namespace orrery
