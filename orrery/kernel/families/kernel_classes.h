// Whose kernels run: the framework that serves each group of kernel families.
#pragma once

#include <compare>
#include <string>

namespace orrery {

// Names of frameworks with measured kernels: "trtllm", "vllm", "sglang", "pytorch".
struct KernelClasses {
  std::string gemm = "vllm", attention = "vllm", moe = "vllm", mla = "vllm",
              linear_attention = "vllm";
  // Norms, softmax and pointwise work of a framework that launches each operation on its own
  // ("pytorch"). Empty: the fused kernels of serving engines, which one model describes for all
  // (elementwise.cc).
  std::string rows = "";
  // Gradients are PyTorch's, whichever engine serves.
  std::string gradients = "pytorch";

  auto operator<=>(const KernelClasses&) const = default;
};

}  // namespace orrery
