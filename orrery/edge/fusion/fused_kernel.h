// One kernel that a runtime launches for a graph: a node, or several nodes that it has fused.
// Predictors read kernels only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/edge/graph/graph.h"

namespace orrery {

// Kernels of a family have the same kind of inner loop, so that one law of time fits them.
enum class EdgeFamily {
  kConvolution,         // one group
  kGroupedConvolution,  // several groups of several channels
  kDepthwise,           // one filter a channel
  kDeconvolution,
  kInnerProduct,
  kMatMul,
  kAttention,
  kRecurrent,
  kPool,
  kGlobalPool,
  kNorm,  // batch norm that was not folded, layer norm, local response norm
  kActivation,
  kElementwise,
  kConcat,
  kSlice,
  kPermute,
  kShuffle,
  kResize,
  kPad,
  kGather,
  kSoftmax,
  kReduce,
  kDetection,
  kCast,
  kUnknown,
};
inline constexpr int kEdgeFamilies = static_cast<int>(EdgeFamily::kUnknown) + 1;
std::string_view edge_family_name(EdgeFamily family);

// The last three dimensions of a tensor; 1 where it has fewer (a vector is {1, 1, n}).
struct EdgeShape {
  std::int64_t c = 1, h = 1, w = 1;
  bool operator==(const EdgeShape&) const = default;
};

struct EdgeKernel {
  EdgeFamily family = EdgeFamily::kUnknown;
  EdgeShape in, out;       // of the first input and the first output
  std::int64_t batch = 1;  // inputs at once; all counts below are of the whole batch
  EdgeWindow kernel, stride, dilation;
  std::int64_t groups = 1;
  EdgeActivation activation = EdgeActivation::kNone;  // that is fused, or that the kernel is
  bool adds_residual = false;                         // a sum with a second tensor is fused in
  std::int64_t macs = 0;
  std::int64_t weights = 0;  // elements of filters and matrices, without biases and folded norms
  std::int64_t in_elements = 0;    // of all activations that it reads
  std::int64_t out_elements = 0;   // of all activations that it writes
  std::vector<std::string> nodes;  // the names of the nodes that it executes, in their order

  // A convolution that Winograd's algorithm can do with fewer multiplications: 3x3, stride 1,
  // dense.
  bool winograd() const {
    return family == EdgeFamily::kConvolution && kernel == EdgeWindow{3, 3} &&
           stride == EdgeWindow{1, 1} && dilation == EdgeWindow{1, 1};
  }
  // A convolution that is a matrix product over pixels.
  bool pointwise() const {
    return family == EdgeFamily::kConvolution && kernel == EdgeWindow{1, 1};
  }
};

}  // namespace orrery
