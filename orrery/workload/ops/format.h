// Number formats of a matrix product: how it stores and multiplies its operands.
//
// A Format stands for the formats of weight, activation and arithmetic together, with the bytes of
// the scales. One Format names one kind of kernel.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "orrery/base/dtype.h"
#include "orrery/base/units.h"

namespace orrery {

enum class Format {
  kFp32,
  kTf32,
  kFp16,
  kBf16,
  kFp8,  // e4m3 weights and activations, a scale per tensor, channel or token, found dynamically
  kFp8Block,    // e4m3, 128x128 weight blocks and 1x128 activation blocks (DeepSeek)
  kInt8,        // W8A8 (SmoothQuant)
  kInt8Weight,  // W8A16: int8 weights, 16-bit arithmetic
  kInt4Weight,  // W4A16: GPTQ/AWQ, a scale (and zero) per group of 128, 16-bit arithmetic
  kNvfp4,       // W4A4: e2m1, an fp8 scale per 16 values
  kMxfp4,       // W4A16: e2m1, an 8-bit scale per 32 values, 16-bit arithmetic
  kMxfp4Fp8,    // W4A8: mxfp4 weights, mxfp8 activations
  kInt4Fp8,     // W4A8: int4 weights, fp8 activations
  // llama.cpp's GGUF files. Blocks of weights with scales of their own; activations are rounded to
  // int8 blocks (Q8_1). The K formats are the usual mixtures ("Q4_K_M": half of some matrices is
  // Q6_K), with the mean bits of a weight that llama.cpp states for Llama 2 7B.
  kQ4K,
  kQ2K,
  kQ3K,
  kQ5K,
  kQ6K,
  kQ4Plain,  // q4_0: one scale for 32 values
  kQ8Plain,  // q8_0
  kIq4Xs,    // values from a table of 16, one scale for 32
};

struct FormatProperties {
  std::string_view name;  // id in files and flags: "fp8_block"
  Bytes weight;           // stored bytes a weight, scales included
  Bytes activation;       // bytes an activation element as the product reads it, scales included
  Dtype arithmetic;       // number format whose peak rate bounds the product
  bool quantises_activation;  // a kernel scales and rounds the 16-bit activation before the product
  bool gguf = false;          // a format of llama.cpp's files, multiplied by its own kernels
};

const FormatProperties& properties(Format format);
std::span<const std::string> format_names();

// The format of an id or an alias, nothing for other texts. Aliases: bfloat16, int4_wo, w4a16,
// gptq, awq, int8_wo, w8a8, sq, w4a16_mxfp4, ...
std::optional<Format> parse_format(std::string_view text);

}  // namespace orrery
