// From a graph to the kernels that a runtime launches. What a runtime fuses is data: FusionRules, one entry
// a runtime, each with its public source.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "orrery/edge/fusion/fused_kernel.h"
#include "orrery/edge/graph/graph.h"

namespace orrery {

struct FusionRules {
  std::string name;              // the runtime: "ncnn"
  std::string title;             // "ncnn (ncnnoptimize)"
  std::string source;            // where a reader finds these rules
  bool folds_batch_norm = true;  // into the convolution or product before it
  // The activations that a convolution, a product or a sum ends with.
  std::vector<EdgeActivation> after_convolution, after_inner_product, after_sum;
  bool fuses_residual = false;  // convolution + sum (+ its activation) in one kernel
  bool fuses_swish = false;     // x * sigmoid(x) and x * hard_sigmoid(x) as one kernel
  bool pads_inside = true;      // a Pad before a convolution or pool is part of it
  // Chains of element-wise nodes behind each other as one kernel.
  bool fuses_pointwise_chains = false;
  bool concat_in_place = false;  // producers write into the result: no kernel
};

// The rules of all runtimes, in the order that answers show them: none (each node a kernel), ncnn, tflite,
// onnxruntime, tensorrt.
const std::vector<FusionRules>& fusion_rules();
// InputError with the nearest name where there is none.
const FusionRules& fusion_rules(std::string_view runtime);

// The kernels of a graph, in the order of execution. Views make no kernels. A node is fused into the one
// before it only if nothing else reads what is between them, and if that is no output of the graph.
std::vector<EdgeKernel> fuse(const EdgeGraph& graph, const FusionRules& rules);

}  // namespace orrery
