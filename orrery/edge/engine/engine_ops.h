// The ops (workload/ops/op.h) that a fused kernel of a network is for a GPU: products, attention,
// and work that is bound by its data.
//
// A convolution is a product of as many rows as it has output pixels (an implicit GEMM). A grouped
// one multiplies blocks of channels: groups that are narrower than an instruction of the matrix
// units are multiplied together, as one block with zeros outside the groups.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "orrery/edge/fusion/fused_kernel.h"
#include "orrery/workload/ops/op.h"

namespace orrery {

// The width of a head of a whole attention block (EdgeFamily::kAttention), which graphs do not say:
// that of the Transformer (Vaswani et al., "Attention Is All You Need", 2017), BERT and ViT.
inline constexpr std::int64_t kAssumedHeadWidth = 64;

// An engine that runs networks on a GPU. Its fusion rules are those of the same name (fuse.h).
struct EngineKind {
  std::string_view name;  // "tensorrt"
  // Whether products of floats are rounded to tf32 where the GPU has it: of convolutions, of other
  // layers.
  bool tf32_convolutions = true, tf32_products = true;
  std::string_view kernels = "pytorch";  // whose measured kernels are closest: KernelClasses
  bool fused_attention = true;           // one kernel in place of two products and a softmax
  std::string_view source;               // of these facts
};
// tensorrt, onnxruntime, pytorch, openvino.
const std::vector<EngineKind>& engine_kinds();
// nullptr where there is none.
const EngineKind* engine_kind(std::string_view name);

enum class EnginePrecision { kFloat, kHalf, kInt8 };
// The bytes of an element of a tensor.
Bytes element_bytes(EnginePrecision precision);

// An op and the bytes that its kernel must move. A convolution reads a pixel once for all windows
// that it lies in; its product would read it once for each.
struct EngineCall {
  Op op;
  Bytes moved;
};

// `tf32`: the GPU multiplies tf32.
std::vector<EngineCall> engine_calls(const EdgeKernel& kernel, const EngineKind& engine,
                                     EnginePrecision precision, bool tf32);

}  // namespace orrery
