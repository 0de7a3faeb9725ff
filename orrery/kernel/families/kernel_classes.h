// Whose kernels run: the framework that serves each group of kernel families.
#pragma once

#include <compare>
#include <string>

namespace orrery {

// Names of frameworks with measured kernels: "trtllm", "vllm", "sglang", "pytorch".
struct KernelClasses {
  std::string gemm = "vllm", attention = "vllm", moe = "vllm", mla = "vllm",
              linear_attention = "vllm", sparse_attention = "vllm";
  // Products whose activations are scaled to fp8 or nvfp4, if another framework than `gemm` serves
  // them. Empty: `gemm` does.
  std::string scaled_gemm = "";
  // Kernels that only change the number format of activations (the family quantise), if another
  // framework than that of the products they feed serves them. Empty: that one does.
  std::string casts = "";
  // Norms, softmax and pointwise work of a framework that launches each operation on its own
  // ("pytorch"). Empty: the fused kernels of serving engines, which one model describes for all
  // (elementwise.cc).
  std::string rows = "";
  // Gradients are PyTorch's, whichever engine serves.
  std::string gradients = "pytorch";

  auto operator<=>(const KernelClasses&) const = default;
};

// All groups of a serving engine's kernels by one framework; `rows` and `gradients` stay.
inline KernelClasses kernels_of(const std::string& framework) {
  KernelClasses c;
  c.gemm = c.attention = c.moe = c.mla = c.linear_attention = c.sparse_attention = framework;
  return c;
}

}  // namespace orrery
