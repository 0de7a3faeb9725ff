#include "orrery/edge/graph/graph_builder.h"

#include <fmt/format.h>

#include <utility>

#include "orrery/edge/graph/shape_math.h"

namespace orrery {
namespace {

EdgeNode node_of(std::string type, EdgeOp op) {
  EdgeNode n;
  n.type = std::move(type);
  n.op = op;
  return n;
}

std::int64_t over(std::int64_t size, std::int64_t stride) { return (size + stride - 1) / stride; }

}  // namespace

GraphBuilder::GraphBuilder(std::string name) { graph_.name = std::move(name); }

int GraphBuilder::tensor(std::vector<std::int64_t> shape) {
  const int index = static_cast<int>(graph_.tensors.size());
  graph_.tensors.push_back({fmt::format("t{}", index), std::move(shape), false});
  return index;
}

int GraphBuilder::node(EdgeNode node, std::vector<int> inputs, std::vector<std::int64_t> shape) {
  node.name = fmt::format("{}_{}", node.type, graph_.nodes.size());
  node.inputs = std::move(inputs);
  node.outputs = {tensor(std::move(shape))};
  graph_.nodes.push_back(std::move(node));
  return graph_.nodes.back().outputs[0];
}

const std::vector<std::int64_t>& GraphBuilder::shape(int x) const {
  return graph_.tensors.at(static_cast<std::size_t>(x)).shape;
}

std::int64_t GraphBuilder::channels(int x) const { return shape(x)[1]; }

int GraphBuilder::input(std::int64_t channels, std::int64_t height, std::int64_t width) {
  const int index = tensor({1, channels, height, width});
  graph_.inputs.push_back(index);
  return index;
}

int GraphBuilder::convolution(int x, const Convolution& c) {
  EdgeNode n = node_of("Conv", EdgeOp::kConvolution);
  const std::vector<std::int64_t> out = {1, c.channels, over(shape(x)[2], c.stride),
                                         over(shape(x)[3], c.stride)};
  n.kernel = {c.kernel, c.kernel};
  n.stride = {c.stride, c.stride};
  n.groups = c.groups;
  n.weights = checked_product({channels(x) / c.groups, c.channels, c.kernel, c.kernel});
  n.parameters = n.weights;
  n.macs = checked_product({n.weights, out[2], out[3]});
  return node(std::move(n), {x}, out);
}

int GraphBuilder::batch_norm(int x) {
  EdgeNode n = node_of("BatchNorm", EdgeOp::kBatchNorm);
  n.parameters = 2 * channels(x);
  return node(std::move(n), {x}, shape(x));
}

int GraphBuilder::relu(int x) {
  EdgeNode n = node_of("Relu", EdgeOp::kActivation);
  n.activation = EdgeActivation::kRelu;
  return node(std::move(n), {x}, shape(x));
}

int GraphBuilder::average_pool(int x, std::int64_t kernel, std::int64_t stride) {
  EdgeNode n = node_of("AveragePool", EdgeOp::kPool);
  n.kernel = {kernel, kernel};
  n.stride = {stride, stride};
  const auto in = shape(x);
  return node(std::move(n), {x}, {1, in[1], over(in[2], stride), over(in[3], stride)});
}

int GraphBuilder::global_pool(int x) {
  return node(node_of("GlobalAveragePool", EdgeOp::kGlobalPool), {x}, {1, channels(x)});
}

int GraphBuilder::add(int a, int b) {
  EdgeNode n = node_of("Add", EdgeOp::kElementwise);
  n.adds = true;
  return node(std::move(n), {a, b}, shape(a));
}

int GraphBuilder::shuffle(int x, std::int64_t groups) {
  EdgeNode n = node_of("ChannelShuffle", EdgeOp::kShuffle);
  n.groups = groups;
  return node(std::move(n), {x}, shape(x));
}

int GraphBuilder::zero(int x, std::int64_t stride) {
  EdgeNode n = node_of("Zero", EdgeOp::kActivation);
  n.activation = EdgeActivation::kOther;
  const auto in = shape(x);
  return node(std::move(n), {x}, {1, in[1], over(in[2], stride), over(in[3], stride)});
}

int GraphBuilder::inner_product(int x, std::int64_t outputs) {
  EdgeNode n = node_of("Gemm", EdgeOp::kInnerProduct);
  n.weights = checked_product({checked_product(shape(x)), outputs});
  n.parameters = n.weights + outputs;
  n.macs = n.weights;
  return node(std::move(n), {x}, {1, outputs});
}

EdgeGraph GraphBuilder::finish(int output) && {
  std::vector<bool> needed(graph_.tensors.size(), false);
  needed.at(static_cast<std::size_t>(output)) = true;
  std::vector<EdgeNode> kept;
  for (auto n = graph_.nodes.rbegin(); n != graph_.nodes.rend(); ++n) {
    if (!needed[static_cast<std::size_t>(n->outputs[0])]) continue;
    for (const int i : n->inputs) needed[static_cast<std::size_t>(i)] = true;
    kept.push_back(std::move(*n));
  }
  graph_.nodes.assign(std::make_move_iterator(kept.rbegin()), std::make_move_iterator(kept.rend()));
  graph_.outputs = {output};
  return std::move(graph_);
}

}  // namespace orrery
