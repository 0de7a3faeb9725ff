// Measured figures that LLMCompass publishes (Zhang et al., ISCA 2024): operators, an all-reduce
// and the parts of a GPT-3 layer on A100 and MI210, and areas of dies
// (accelerator/llmcompass_measured.csv, docs/data.md).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace orrery {

struct LlmCompassRow {
  std::string kind;    // "operator", "collective", "layer", "area"
  std::string item;    // "matmul", "gpt3_layer_prefill:Q_K_V", "cores"
  std::string device;  // "A100", "MI210"
  std::string shape;   // "512x12288x12288"; for layers "batch8 prompt2048 d12288 heads96 tp4"
  std::string dtype;
  int devices = 1;
  double measured = 0;               // seconds, or square millimetres
  std::optional<double> llmcompass;  // its own prediction
  std::optional<double> llmcompass_roofline;
  std::string row;  // "llmcompass_measured.csv:12"
};

std::vector<LlmCompassRow> read_llmcompass(const std::filesystem::path& file);

// The numbers of a shape such as "512x12288x12288" or "8192". InputError, with the row's place, if
// it is none.
std::vector<double> sizes_of(const LlmCompassRow& row);

// The number behind a word of a layer's shape: "heads" gives 96 in the example above; InputError if
// the word is missing.
double word_of(const LlmCompassRow& row, const std::string& word);

}  // namespace orrery
