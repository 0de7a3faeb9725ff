// Quantisation as NVIDIA's ModelOpt writes it, in config.json or in hf_quant_config.json.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "orrery/model/checkpoint/quantization.h"

namespace orrery {
namespace {

// Scales of ModelOpt's export (unified_export_hf): fp32 for a matrix's weights and inputs, 16 bits
// for groups of integers.
constexpr StoredFormat kFp8{.format = WeightFormat::kFp8, .matrix_bytes = 8};
constexpr StoredFormat kFp8Rows{
    .format = WeightFormat::kFp8, .scale_per_row = true, .scale_bytes = 4};
constexpr StoredFormat kFp8Blocks{
    .format = WeightFormat::kFp8, .block_rows = 128, .block_columns = 128, .scale_bytes = 4};
constexpr StoredFormat kMxfp8{.format = WeightFormat::kFp8, .group = 32, .scale_bytes = 1};
constexpr StoredFormat kNvfp4{
    .format = WeightFormat::kNvfp4, .group = 16, .scale_bytes = 1, .matrix_bytes = 8};
constexpr StoredFormat kMxfp4{.format = WeightFormat::kMxfp4, .group = 32, .scale_bytes = 1};
constexpr StoredFormat kInt4{.format = WeightFormat::kInt4, .group = 128, .scale_bytes = 2};
constexpr StoredFormat kInt8{
    .format = WeightFormat::kInt8, .scale_per_row = true, .scale_bytes = 4};

struct Algorithm {
  std::string_view name;
  StoredFormat format;
  bool weights_only;
};

// QuantAlgo of TensorRT-LLM (tensorrt_llm/quantization/mode.py) and QUANTIZATION_* of ModelOpt
// (modelopt/torch/export/model_config.py).
constexpr std::array kAlgorithms = {
    Algorithm{"FP8", kFp8, false},
    Algorithm{"FP8_PER_CHANNEL_PER_TOKEN", kFp8Rows, false},
    Algorithm{"FP8_PB_WO", kFp8Blocks, false},
    Algorithm{"FP8_PB_REAL", kFp8Blocks, false},
    Algorithm{"FP8_BLOCK_SCALES", kFp8Blocks, false},
    Algorithm{"MXFP8", kMxfp8, false},
    Algorithm{"NVFP4", kNvfp4, false},
    Algorithm{"NVFP4_AWQ", kNvfp4, false},
    Algorithm{"W4A16_NVFP4", kNvfp4, true},
    Algorithm{"W4A8_NVFP4_FP8", kNvfp4, false},
    Algorithm{"MXFP4", kMxfp4, false},
    Algorithm{"W4A8_MXFP4_FP8", kMxfp4, false},
    Algorithm{"W4A8_MXFP4_MXFP8", kMxfp4, false},
    Algorithm{"W4A16_MXFP4", kMxfp4, true},
    Algorithm{"INT4_AWQ", kInt4, true},
    Algorithm{"W4A16", kInt4, true},
    Algorithm{"W4A16_AWQ", kInt4, true},
    Algorithm{"W4A8_AWQ", kInt4, false},
    Algorithm{"W8A16", kInt8, true},
    Algorithm{"INT8", kInt8, false},
    Algorithm{"INT8_SQ", kInt8, false},
    Algorithm{"W8A8_SQ_PER_CHANNEL", kInt8, false},
};

}  // namespace

StoredFormat modelopt_format(const Node& map) {
  const Node& name = map.at("quant_algo");
  for (const Algorithm& a : kAlgorithms) {
    if (a.name != name.as_string()) continue;
    StoredFormat f = a.format;
    f.weights_only = a.weights_only;
    if (f.group > 0) {
      if (const int group = read_group(map, {"group_size"})) f.group = group;
    }
    return f;
  }
  std::vector<std::string> known = {"MIXED_PRECISION"};
  for (const Algorithm& a : kAlgorithms) known.emplace_back(a.name);
  name.fail(fmt::format("quantisation '{}' is not supported{}; expected one of {}", name.text(),
                        did_you_mean(name.text(), known), fmt::join(known, ", ")));
}

void read_quantized_layers(const Node& map, QuantizationRules& rules) {
  const Node* layers = map.find("quantized_layers");
  if (layers == nullptr || layers->is_null()) return;
  if (!layers->is_map()) layers->fail("expected a map from modules to their quant_algo");
  for (std::size_t i = 0; i < layers->keys().size(); ++i) {
    rules.named.emplace_back(layers->items()[i], layers->keys()[i]);
    rules.named_formats.push_back(modelopt_format(layers->items()[i]));
  }
}

void read_modelopt(const Node& map, QuantizationRules& rules) {
  const Node* groups = map.find("config_groups");
  const Node* found = map.find("quant_algo");
  if ((found == nullptr || found->is_null()) && groups != nullptr) {
    return read_compressed_tensors(map, rules);
  }
  const Node& algorithm = map.at("quant_algo");
  read_quantized_layers(map, rules);
  if (algorithm.as_string() != "MIXED_PRECISION") {
    rules.linear = modelopt_format(map);
  } else if (rules.named.empty()) {
    algorithm.fail("MIXED_PRECISION names its modules in quantized_layers, which is missing");
  }
  read_skipped(map, "exclude_modules", rules);
  read_skipped(map, "ignore", rules);
}

}  // namespace orrery
