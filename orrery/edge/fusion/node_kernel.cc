#include "orrery/edge/fusion/node_kernel.h"

#include "orrery/base/index.h"

namespace orrery {
namespace {

EdgeFamily family_of(EdgeOp op) {
  switch (op) {
    case EdgeOp::kConvolution:
      return EdgeFamily::kConvolution;
    case EdgeOp::kDeconvolution:
      return EdgeFamily::kDeconvolution;
    case EdgeOp::kInnerProduct:
      return EdgeFamily::kInnerProduct;
    case EdgeOp::kMatMul:
      return EdgeFamily::kMatMul;
    case EdgeOp::kAttention:
      return EdgeFamily::kAttention;
    case EdgeOp::kRecurrent:
      return EdgeFamily::kRecurrent;
    case EdgeOp::kPool:
      return EdgeFamily::kPool;
    case EdgeOp::kGlobalPool:
      return EdgeFamily::kGlobalPool;
    case EdgeOp::kBatchNorm:
    case EdgeOp::kLayerNorm:
    case EdgeOp::kLrn:
      return EdgeFamily::kNorm;
    case EdgeOp::kActivation:
      return EdgeFamily::kActivation;
    case EdgeOp::kElementwise:
      return EdgeFamily::kElementwise;
    case EdgeOp::kConcat:
      return EdgeFamily::kConcat;
    case EdgeOp::kSlice:
      return EdgeFamily::kSlice;
    case EdgeOp::kPermute:
      return EdgeFamily::kPermute;
    case EdgeOp::kShuffle:
      return EdgeFamily::kShuffle;
    case EdgeOp::kResize:
      return EdgeFamily::kResize;
    case EdgeOp::kPad:
      return EdgeFamily::kPad;
    case EdgeOp::kGather:
      return EdgeFamily::kGather;
    case EdgeOp::kSoftmax:
      return EdgeFamily::kSoftmax;
    case EdgeOp::kReduce:
      return EdgeFamily::kReduce;
    case EdgeOp::kDetection:
      return EdgeFamily::kDetection;
    case EdgeOp::kCast:
      return EdgeFamily::kCast;
    case EdgeOp::kView:
    case EdgeOp::kUnknown:
      break;
  }
  return EdgeFamily::kUnknown;
}

// Pools and means over the whole image are one family, whatever a file calls them.
bool is_global(const EdgeNode& node, const EdgeShape& in, const EdgeShape& out) {
  const std::int64_t area = in.h * in.w;
  if (area <= 1 || out.h * out.w * out.c != in.c) return false;
  if (node.op == EdgeOp::kPool) return node.kernel == EdgeWindow{in.h, in.w};
  return node.op == EdgeOp::kReduce && in.c > 1;
}

}  // namespace

EdgeShape edge_shape(const EdgeTensor& tensor) {
  const auto& d = tensor.shape;
  if (tensor.dynamic || d.empty()) return {};
  switch (d.size()) {
    case 1:
      return {1, 1, d[0]};
    case 2:
      return {1, 1, d[1]};
    case 3:
      return {1, d[1], d[2]};
    case 4:
      return {d[1], d[2], d[3]};
    default: {
      std::int64_t rows = 1;
      for (std::size_t i = 2; i + 1 < d.size(); ++i) rows *= d[i];
      return {d[1], rows, d.back()};
    }
  }
}

EdgeKernel node_kernel(const EdgeGraph& graph, const EdgeNode& node) {
  const auto tensor = [&](int i) -> const EdgeTensor& { return graph.tensors[index(i)]; };
  EdgeKernel k;
  k.family = family_of(node.op);
  if (!node.inputs.empty()) k.in = edge_shape(tensor(node.inputs[0]));
  if (!node.outputs.empty()) {
    const EdgeTensor& out = tensor(node.outputs[0]);
    k.out = edge_shape(out);
    if (out.shape.size() > 1) k.batch = out.shape[0];
  }
  for (const int i : node.inputs) k.in_elements += tensor(i).elements();
  for (const int o : node.outputs) k.out_elements += tensor(o).elements();
  k.kernel = node.kernel;
  k.stride = node.stride;
  k.dilation = node.dilation;
  k.groups = node.groups;
  k.activation = node.activation;
  k.macs = node.macs;
  k.weights = node.weights;
  k.nodes = {node.name};
  if (k.family == EdgeFamily::kConvolution && node.groups > 1) {
    k.family = node.depthwise(k.in.c) ? EdgeFamily::kDepthwise : EdgeFamily::kGroupedConvolution;
  }
  if (is_global(node, k.in, k.out)) k.family = EdgeFamily::kGlobalPool;
  return k;
}

}  // namespace orrery
