#include "orrery/workload/ops/format.h"

#include <array>
#include <utility>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/base/index.h"

namespace orrery {
namespace {

// Bytes of the scales, spread over the values that share them.
constexpr double kBlockWeightScale = 4.0 / (128 * 128);  // fp32 a weight block
constexpr double kBlockActivationScale = 4.0 / 128;      // fp32 a row of 128
constexpr double kGroupScale = (2.0 + 0.5) / 128;        // GPTQ/AWQ: 16-bit scale and 4-bit zero
constexpr double kNvScale = 1.0 / 16;
constexpr double kMxScale = 1.0 / 32;

// llama.cpp (github.com/ggml-org/llama.cpp). Sizes of blocks: ggml/src/ggml-common.h (block_q8_1,
// block_q6_K, ...: bytes over values of a block). Mean bits of the mixtures Q2_K, Q3_K_M, Q4_K_M
// and Q5_K_M: examples/quantize/README.md, table of Llama 2 7B.
constexpr Bytes kQ8Block = Bytes(36.0 / 32);

// In the order of the enum. Scales of whole tensors, channels and tokens are left out (below 0.1
// %).
constexpr std::array<FormatProperties, 21> kFacts = {{
    {"fp32", Bytes(4), Bytes(4), Dtype::kFp32, false},
    {"tf32", Bytes(4), Bytes(4), Dtype::kTf32, false},
    {"fp16", Bytes(2), Bytes(2), Dtype::kFp16, false},
    {"bf16", Bytes(2), Bytes(2), Dtype::kBf16, false},
    {"fp8", Bytes(1), Bytes(1), Dtype::kFp8, true},
    {"fp8_block", Bytes(1 + kBlockWeightScale), Bytes(1 + kBlockActivationScale), Dtype::kFp8,
     true},
    {"int8", Bytes(1), Bytes(1), Dtype::kInt8, true},
    {"int8_weight", Bytes(1), Bytes(2), Dtype::kFp16, false},
    {"int4_weight", Bytes(0.5 + kGroupScale), Bytes(2), Dtype::kFp16, false},
    {"nvfp4", Bytes(0.5 + kNvScale), Bytes(0.5 + kNvScale), Dtype::kFp4, true},
    {"mxfp4", Bytes(0.5 + kMxScale), Bytes(2), Dtype::kBf16, false},
    {"mxfp4_fp8", Bytes(0.5 + kMxScale), Bytes(1 + kMxScale), Dtype::kFp8, true},
    {"int4_fp8", Bytes(0.5 + kGroupScale), Bytes(1), Dtype::kFp8, true},
    {"q4_k", Bytes(4.85 / 8), kQ8Block, Dtype::kInt8, true, true},
    {"q2_k", Bytes(3.35 / 8), kQ8Block, Dtype::kInt8, true, true},
    {"q3_k", Bytes(3.91 / 8), kQ8Block, Dtype::kInt8, true, true},
    {"q5_k", Bytes(5.68 / 8), kQ8Block, Dtype::kInt8, true, true},
    {"q6_k", Bytes(210.0 / 256), kQ8Block, Dtype::kInt8, true, true},
    {"q4_0", Bytes(18.0 / 32), kQ8Block, Dtype::kInt8, true, true},
    {"q8_0", Bytes(34.0 / 32), kQ8Block, Dtype::kInt8, true, true},
    {"iq4_xs", Bytes(136.0 / 256), kQ8Block, Dtype::kInt8, true, true},
}};

// Spellings of vLLM, TensorRT-LLM, checkpoints and the measured tables, in canonical form.
constexpr std::array<std::pair<std::string_view, Format>, 44> kAliases = {{
    {"float32", Format::kFp32},
    {"float", Format::kFp32},
    {"tensorfloat32", Format::kTf32},
    {"float16", Format::kFp16},
    {"half", Format::kFp16},
    {"bfloat16", Format::kBf16},
    {"e4m3", Format::kFp8},
    {"fp8-e4m3", Format::kFp8},
    {"fp8-static", Format::kFp8},
    {"fp8-per-tensor", Format::kFp8},
    {"fbgemm-fp8", Format::kFp8},
    {"ptpc-fp8", Format::kFp8},
    {"w8a8-fp8", Format::kFp8},
    {"block-fp8", Format::kFp8Block},
    {"deepseek-fp8", Format::kFp8Block},
    {"w8a8", Format::kInt8},
    {"w8a8-int8", Format::kInt8},
    {"sq", Format::kInt8},
    {"smoothquant", Format::kInt8},
    {"w8a16", Format::kInt8Weight},
    {"int8-wo", Format::kInt8Weight},
    {"int8-weight-only", Format::kInt8Weight},
    {"int4", Format::kInt4Weight},
    {"w4a16", Format::kInt4Weight},
    {"int4-wo", Format::kInt4Weight},
    {"int4-weight-only", Format::kInt4Weight},
    {"gptq", Format::kInt4Weight},
    {"gptq-marlin", Format::kInt4Weight},
    {"awq", Format::kInt4Weight},
    {"awq-marlin", Format::kInt4Weight},
    {"fp4", Format::kNvfp4},
    {"modelopt-fp4", Format::kNvfp4},
    {"w4a16-mxfp4", Format::kMxfp4},
    {"w4a8-mxfp4-mxfp8", Format::kMxfp4Fp8},
    {"mxfp4-mxfp8", Format::kMxfp4Fp8},
    {"w4afp8", Format::kInt4Fp8},
    {"w4a8", Format::kInt4Fp8},
    {"q4-k-m", Format::kQ4K},
    {"gguf-q4", Format::kQ4K},
    {"q3-k-m", Format::kQ3K},
    {"q5-k-m", Format::kQ5K},
    {"gguf-q5", Format::kQ5K},
    {"gguf-q6", Format::kQ6K},
    {"gguf-q8", Format::kQ8Plain},
}};

}  // namespace

const FormatProperties& properties(Format format) { return kFacts[index(format)]; }

std::span<const std::string> format_names() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const FormatProperties& f : kFacts) names.emplace_back(f.name);
    return names;
  }();
  return kNames;
}

std::optional<Format> parse_format(std::string_view text) {
  const std::string name = canonical_name(text);
  for (std::size_t i = 0; i < kFacts.size(); ++i) {
    if (canonical_name(kFacts[i].name) == name) return static_cast<Format>(i);
  }
  for (const auto& [alias, format] : kAliases) {
    if (alias == name) return format;
  }
  return std::nullopt;
}

}  // namespace orrery
