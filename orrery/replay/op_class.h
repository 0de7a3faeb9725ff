// Which kind of work a kernel of a trace does, by its name.
//
// One table (op_class.cc), first match wins, each line with the library whose names it holds. A
// kernel that no line knows is `other`; the answer says how much time that is.
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

// "gemm", "attention", "elementwise", "norm", "optimizer", "communication", "copy", "other".
std::string_view to_text(OpClass c);
std::optional<OpClass> parse_op_class(std::string_view text);

// Of a kernel. `in_optimizer`: launched inside the optimizer's step (torch's annotation
// "Optimizer.step#..."): all but communication and copies then are the optimizer's.
OpClass class_of_kernel(std::string_view name, bool in_optimizer);

}  // namespace orrery
