// From a graph to the kernels that a runtime launches. What a runtime fuses is data: FusionRules,
// one entry a runtime, each with its public source.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "orrery/edge/fusion/fused_kernel.h"
#include "orrery/edge/graph/graph.h"

namespace orrery {

struct FusionRules {
  std::string name;    // the runtime: "ncnn"
  std::string title;   // "ncnn (ncnnoptimize)"
  std::string source;  // where a reader finds these rules
  // Batch norms, and scales and biases of constants, into the convolution or product before them.
  bool folds_batch_norm = true;
  // The activations that a convolution, a product or a sum ends with.
  std::vector<EdgeActivation> after_convolution, after_inner_product, after_sum;
  bool fuses_residual = false;  // convolution + sum (+ its activation) in one kernel
  bool fuses_swish = false;     // x * sigmoid(x) and x * hard_sigmoid(x) as one kernel
  bool pads_inside = true;      // a Pad before a convolution or pool is part of it
  // Chains of element-wise nodes behind each other as one kernel.
  bool fuses_pointwise_chains = false;
  bool concat_in_place = false;  // producers write into the result: no kernel
  // A convolution of a single pixel is done as an inner product.
  bool pixel_is_inner_product = false;
};

// The rules of all runtimes (fusion_rules.cc), in the order that answers show them: none (each node
// a kernel), ncnn, tflite, onnxruntime, tensorrt, pytorch, openvino, coreml.
const std::vector<FusionRules>& fusion_rules();
// InputError with the nearest name where there is none.
const FusionRules& fusion_rules(std::string_view runtime);

// The kernels of a graph, in the order of execution. Views make no kernels. A graph that was read
// from the runtime's own format (EdgeGraph::lowered_for) is executed node by node, since its tools
// have fused it. A node is fused into the one before it only if nothing else reads what is between
// them, and if that is no output of the graph.
std::vector<EdgeKernel> fuse(const EdgeGraph& graph, const FusionRules& rules);

}  // namespace orrery
