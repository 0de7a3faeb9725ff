// The kind of work that a kernel of a trace does, by its name.
//
// op_class.cc has a table of parts of names, each with the library whose kernels have them; the
// first match counts. A kernel that matches no entry is kOther, and answers state how much time
// such kernels take.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace orrery {

enum class OpClass {
  kGemm,           // products with weights, experts and plain batched products
  kAttention,      // fused attention, forward and backward
  kElementwise,    // pointwise work, reductions, softmax, gathers, casts
  kNorm,           // layer and RMS norms, forward and backward
  kOptimizer,      // updates of weights, clipping of gradients
  kCommunication,  // collectives and point-to-point messages between GPUs
  kCopy,           // copies and fills of memory
  kOther,
};
inline constexpr std::size_t kOpClasses = 8;
inline constexpr std::array<OpClass, kOpClasses> kAllOpClasses = {
    OpClass::kGemm,      OpClass::kAttention,     OpClass::kElementwise, OpClass::kNorm,
    OpClass::kOptimizer, OpClass::kCommunication, OpClass::kCopy,        OpClass::kOther};

// The name of a class: "gemm", "attention", "elementwise", "norm", "optimizer", "communication",
// "copy", "other".
std::string_view to_text(OpClass c);
std::optional<OpClass> parse_op_class(std::string_view text);

// The class of a kernel. `in_optimizer`: the kernel was launched inside of the optimizer's step
// (torch's annotation "Optimizer.step#..."), so that it is kOptimizer unless it communicates or
// copies.
OpClass class_of_kernel(std::string_view name, bool in_optimizer);

}  // namespace orrery
