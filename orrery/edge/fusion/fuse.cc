#include "orrery/edge/fusion/fuse.h"

#include <algorithm>
#include <utility>

#include "orrery/base/index.h"
#include "orrery/edge/fusion/node_kernel.h"

namespace orrery {
namespace {

constexpr int kNone = -1;

bool contains(const std::vector<EdgeActivation>& list, EdgeActivation a) {
  return std::find(list.begin(), list.end(), a) != list.end();
}

// Who writes and reads a value. Views hand on the value that they read.
struct Value {
  int kernel = kNone;  // that writes it; none for inputs of the graph
  int readers = 0;     // inputs of nodes that are no views
  bool output = false;
};

class Fuser {
 public:
  Fuser(const EdgeGraph& graph, const FusionRules& rules)
      : graph_(graph),
        rules_(rules),
        fuses_(graph.lowered_for.empty() || graph.lowered_for != rules.name),
        value_of_(graph.tensors.size()),
        values_(graph.tensors.size()) {
    for (std::size_t t = 0; t < value_of_.size(); ++t) value_of_[t] = static_cast<int>(t);
    for (const EdgeNode& n : graph.nodes) {
      if (n.op == EdgeOp::kView) {
        for (const int o : n.outputs) {
          if (!n.inputs.empty()) value_of_[index(o)] = value_of_[index(n.inputs[0])];
        }
      } else {
        for (const int i : n.inputs) ++value(i).readers;
      }
    }
    for (const int o : graph.outputs) value(o).output = true;
  }

  std::vector<EdgeKernel> fuse() {
    for (const EdgeNode& n : graph_.nodes) {
      if (n.op == EdgeOp::kView) continue;
      const int kernel = fuses_ ? absorbed(n) : kNone;
      const int writer = kernel != kNone ? kernel : added(n);
      for (const int o : n.outputs) value(o).kernel = writer;
    }
    std::vector<EdgeKernel> kernels;
    for (Open& k : kernels_) {
      if (!k.gone) kernels.push_back(std::move(k.kernel));
    }
    return kernels;
  }

 private:
  struct Open {
    EdgeKernel kernel;
    EdgeOp op = EdgeOp::kUnknown;
    bool sum = false;   // a sum of two tensors
    int reads = kNone;  // the value of its first input
    bool gone = false;  // merged into another kernel, or without work
  };

  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  Value& value(int tensor) { return values_[index(value_of_[index(tensor)])]; }
  std::int64_t elements(int tensor) const { return graph_.tensors[index(tensor)].elements(); }

  // The kernel that writes an input, if only `readers` inputs of nodes read that.
  int open_kernel(int tensor, int readers = 1) {
    const Value& v = value(tensor);
    if (v.kernel == kNone || v.readers != readers || v.output) return kNone;
    return kernels_[index(v.kernel)].gone ? kNone : v.kernel;
  }

  static bool is_convolution(const Open& k) {
    return k.op == EdgeOp::kConvolution || k.op == EdgeOp::kDeconvolution;
  }
  static bool is_product(const Open& k) { return k.op == EdgeOp::kInnerProduct; }
  // A convolution or product behind which nothing is fused yet.
  static bool is_bare(const Open& k) {
    return (is_convolution(k) || is_product(k)) && k.kernel.activation == EdgeActivation::kNone &&
           !k.kernel.adds_residual;
  }
  static bool is_pointwise(EdgeOp op) {
    return op == EdgeOp::kActivation || op == EdgeOp::kElementwise || op == EdgeOp::kBatchNorm;
  }

  bool takes_activation(const Open& k, EdgeActivation a) const {
    if (k.kernel.activation != EdgeActivation::kNone) return false;
    if (is_convolution(k)) return contains(rules_.after_convolution, a);
    if (is_product(k)) return contains(rules_.after_inner_product, a);
    return k.sum && contains(rules_.after_sum, a);
  }

  // Adds a node to a kernel, whose result is then that of the node.
  int join(int kernel, const EdgeNode& node) {
    EdgeKernel& k = kernels_[index(kernel)].kernel;
    k.nodes.push_back(node.name);
    k.out_elements = 0;
    for (const int o : node.outputs) k.out_elements += elements(o);
    return kernel;
  }

  // The kernel that takes the node in, or none.
  int absorbed(const EdgeNode& n) {
    if (n.inputs.empty()) return kNone;
    switch (n.op) {
      case EdgeOp::kBatchNorm:
        if (const int k = absorbed_constant(n); k != kNone) return k;
        break;
      case EdgeOp::kActivation: {
        const int k = open_kernel(n.inputs[0]);
        if (k != kNone && takes_activation(kernels_[index(k)], n.activation)) {
          kernels_[index(k)].kernel.activation = n.activation;
          return join(k, n);
        }
        break;
      }
      case EdgeOp::kElementwise:
        if (const int k = absorbed_constant(n); k != kNone) return k;
        if (const int k = absorbed_swish(n); k != kNone) return k;
        if (const int k = absorbed_sum(n); k != kNone) return k;
        break;
      default:
        return kNone;
    }
    return rules_.fuses_pointwise_chains ? absorbed_chain(n) : kNone;
  }

  // A scale or bias of constants into the weights and the bias of the product before it.
  int absorbed_constant(const EdgeNode& n) {
    if (!rules_.folds_batch_norm || n.inputs.size() != 1) return kNone;
    const int k = open_kernel(n.inputs[0]);
    if (k == kNone || !is_bare(kernels_[index(k)]) ||
        elements(n.inputs[0]) != elements(n.outputs[0])) {
      return kNone;
    }
    return join(k, n);
  }

  // x * sigmoid(x): the gate is the kernel before, and becomes the whole; behind a convolution that
  // ends with swish in this runtime, all three are one.
  int absorbed_swish(const EdgeNode& n) {
    if (!rules_.fuses_swish || n.adds || n.inputs.size() != 2) return kNone;
    for (const int side : {0, 1}) {
      const int x = n.inputs[index(side)], gate = n.inputs[index(1 - side)];
      const int g = open_kernel(gate);
      if (g == kNone) continue;
      Open& open = kernels_[index(g)];
      const bool sigmoid = open.kernel.activation == EdgeActivation::kSigmoid;
      if (open.op != EdgeOp::kActivation || open.kernel.nodes.size() != 1 ||
          (!sigmoid && open.kernel.activation != EdgeActivation::kHardSigmoid) ||
          value_of_[index(x)] != open.reads) {
        continue;
      }
      const EdgeActivation a = sigmoid ? EdgeActivation::kSwish : EdgeActivation::kHardSwish;
      const int k = open_kernel(x, 2);
      if (k != kNone && takes_activation(kernels_[index(k)], a)) {
        open.gone = true;
        EdgeKernel& into = kernels_[index(k)].kernel;
        into.activation = a;
        into.nodes.insert(into.nodes.end(), open.kernel.nodes.begin(), open.kernel.nodes.end());
        return join(k, n);
      }
      open.kernel.activation = a;
      return join(g, n);
    }
    return kNone;
  }

  // A sum into the later of the convolutions that it reads.
  int absorbed_sum(const EdgeNode& n) {
    if (!rules_.fuses_residual || !n.adds || n.inputs.size() != 2) return kNone;
    const int a = open_kernel(n.inputs[0]), b = open_kernel(n.inputs[1]);
    const int k = std::max(a, b);
    const int last = std::max(value(n.inputs[0]).kernel, value(n.inputs[1]).kernel);
    if (k == kNone || k != last || !is_convolution(kernels_[index(k)]) ||
        !is_bare(kernels_[index(k)])) {
      return kNone;
    }
    const int other = k == a ? n.inputs[1] : n.inputs[0];
    if (value_of_[index(n.inputs[0])] == value_of_[index(n.inputs[1])] ||
        elements(other) != elements(n.outputs[0]) ||
        elements(k == a ? n.inputs[0] : n.inputs[1]) != elements(n.outputs[0])) {
      return kNone;
    }
    EdgeKernel& kernel = kernels_[index(k)].kernel;
    kernel.adds_residual = true;
    kernel.in_elements += elements(other);
    return join(k, n);
  }

  int absorbed_chain(const EdgeNode& n) {
    const int k = open_kernel(n.inputs[0]);
    if (k == kNone || !is_pointwise(kernels_[index(k)].op) ||
        elements(n.inputs[0]) != elements(n.outputs[0])) {
      return kNone;
    }
    // Its other inputs must be there when the chain begins.
    for (std::size_t i = 1; i < n.inputs.size(); ++i) {
      if (value(n.inputs[i]).kernel >= k) return kNone;
    }
    for (std::size_t i = 1; i < n.inputs.size(); ++i) {
      kernels_[index(k)].kernel.in_elements += elements(n.inputs[i]);
    }
    return join(k, n);
  }

  int added(const EdgeNode& n) {
    Open open{node_kernel(graph_, n), n.op, n.adds && n.inputs.size() == 2};
    if (!n.inputs.empty()) open.reads = value_of_[index(n.inputs[0])];
    if (fuses_) {
      if (rules_.pads_inside) take_pad(n, open);
      if (rules_.pixel_is_inner_product) as_inner_product(open.kernel);
      open.gone = n.op == EdgeOp::kConcat && rules_.concat_in_place;
    }
    kernels_.push_back(std::move(open));
    return static_cast<int>(kernels_.size()) - 1;
  }

  // A Pad before a window becomes part of it.
  void take_pad(const EdgeNode& n, Open& open) {
    if (n.op != EdgeOp::kConvolution && n.op != EdgeOp::kPool) return;
    const int k = n.inputs.empty() ? kNone : open_kernel(n.inputs[0]);
    if (k == kNone || kernels_[index(k)].op != EdgeOp::kPad) return;
    Open& pad = kernels_[index(k)];
    pad.gone = true;
    open.kernel.in = pad.kernel.in;
    open.kernel.in_elements = pad.kernel.in_elements;
    open.kernel.nodes.insert(open.kernel.nodes.begin(), pad.kernel.nodes.begin(),
                             pad.kernel.nodes.end());
  }

  static void as_inner_product(EdgeKernel& k) {
    if (k.family == EdgeFamily::kConvolution && k.pointwise() && k.in.h * k.in.w == 1) {
      k.family = EdgeFamily::kInnerProduct;
      k.in = {1, 1, k.in.c};
      k.out = {1, 1, k.out.c};
    }
  }

  const EdgeGraph& graph_;
  const FusionRules& rules_;
  const bool fuses_;
  std::vector<int> value_of_;  // by tensor: the tensor that holds its value
  std::vector<Value> values_;
  std::vector<Open> kernels_;
};

}  // namespace

std::vector<EdgeKernel> fuse(const EdgeGraph& graph, const FusionRules& rules) {
  return Fuser(graph, rules).fuse();
}

}  // namespace orrery
