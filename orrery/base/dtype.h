// Number formats of weights, activations, KV cache and gradients.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "orrery/base/index.h"
#include "orrery/base/units.h"

namespace orrery {

// Number formats by the width in which they are stored. fp4 is nvfp4 (a scale for 16 values) or
// mxfp4 (a scale for 32); the quantisation (orrery/workload/ops/format.h) decides which, and counts
// the bytes of the scales.
enum class Dtype { kFp64, kFp32, kTf32, kFp16, kBf16, kFp8, kInt8, kFp4, kInt4 };

// "bf16", "fp8", ...: the id used everywhere in files, flags and answers.
std::string_view to_text(Dtype dtype);

// All ids, in the order of the enum.
std::span<const std::string> dtype_names();

// Reads an id or a customary alias (bfloat16, float16, half, torch.bfloat16, fp8_e4m3, e4m3,
// float32...).
std::optional<Dtype> parse_dtype(std::string_view text);

// Bytes of one stored element, without scales: 0.5 for the four-bit formats; tf32 is stored as
// fp32.
constexpr Bytes bytes_per_element(Dtype dtype) {
  constexpr std::array<double, 9> kBytes = {8, 4, 4, 2, 2, 1, 1, 0.5, 0.5};  // by Dtype
  return Bytes(kBytes[index(dtype)]);
}

}  // namespace orrery
