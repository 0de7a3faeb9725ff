#include "orrery/base/dtype.h"

#include <array>
#include <utility>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/base/index.h"

namespace orrery {

std::span<const std::string> dtype_names() {
  static const std::vector<std::string> kNames = {"fp64", "fp32", "tf32", "fp16", "bf16",
                                                  "fp8",  "int8", "fp4",  "int4"};
  return kNames;
}

std::string_view to_text(Dtype dtype) { return dtype_names()[index(dtype)]; }

std::optional<Dtype> parse_dtype(std::string_view text) {
  std::string name = canonical_name(text);
  if (name.starts_with("torch.")) name.erase(0, 6);
  const auto names = dtype_names();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<Dtype>(i);
  }
  static constexpr std::array<std::pair<std::string_view, Dtype>, 18> kAliases = {{
      {"float64", Dtype::kFp64},
      {"double", Dtype::kFp64},
      {"float32", Dtype::kFp32},
      {"float", Dtype::kFp32},
      {"float16", Dtype::kFp16},
      {"half", Dtype::kFp16},
      {"bfloat16", Dtype::kBf16},
      {"fp8-e4m3", Dtype::kFp8},
      {"fp8-e5m2", Dtype::kFp8},
      {"float8", Dtype::kFp8},
      {"float8-e4m3fn", Dtype::kFp8},
      {"float8-e5m2", Dtype::kFp8},
      {"e4m3", Dtype::kFp8},
      {"e5m2", Dtype::kFp8},
      {"nvfp4", Dtype::kFp4},
      {"mxfp4", Dtype::kFp4},
      {"float4", Dtype::kFp4},
      {"uint4", Dtype::kInt4},
  }};
  for (const auto& [alias, dtype] : kAliases) {
    if (alias == name) return dtype;
  }
  return std::nullopt;
}

}  // namespace orrery
