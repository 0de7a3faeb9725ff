#include "orrery/edge/graph/graph.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>

#include "orrery/base/index.h"
#include "orrery/edge/graph/shape_math.h"

namespace orrery {

std::string_view edge_op_name(EdgeOp op) {
  constexpr std::array<std::string_view, 26> kNames = {
      "convolution", "deconvolution", "inner product", "matmul",     "attention", "recurrent",
      "pool",        "global pool",   "batch norm",    "layer norm", "lrn",       "activation",
      "elementwise", "concat",        "slice",         "permute",    "shuffle",   "resize",
      "pad",         "gather",        "softmax",       "reduce",     "detection", "cast",
      "view",        "unknown"};
  static_assert(kNames.size() == static_cast<std::size_t>(EdgeOp::kUnknown) + 1);
  return kNames.at(static_cast<std::size_t>(op));
}

std::string_view edge_activation_name(EdgeActivation activation) {
  constexpr std::array<std::string_view, 14> kNames = {
      "none",  "relu",       "relu6", "leaky relu", "prelu", "sigmoid", "hard sigmoid",
      "swish", "hard swish", "gelu",  "tanh",       "elu",   "mish",    "other"};
  static_assert(kNames.size() == static_cast<std::size_t>(EdgeActivation::kOther) + 1);
  return kNames.at(static_cast<std::size_t>(activation));
}

std::int64_t EdgeTensor::elements() const { return dynamic ? 0 : checked_product(shape); }

namespace {

template <class Value>
std::int64_t sum_over_nodes(const EdgeGraph& graph, Value value) {
  std::int64_t sum = 0;
  for (const EdgeNode& n : graph.nodes) sum += value(n);
  return sum;
}

std::int64_t written_by(const EdgeGraph& graph, const EdgeNode& node) {
  std::int64_t sum = 0;
  for (const int t : node.outputs) sum += graph.tensors[index(t)].elements();
  return sum;
}

}  // namespace

std::int64_t EdgeGraph::macs() const {
  return sum_over_nodes(*this, [](const EdgeNode& n) { return n.macs; });
}

std::int64_t EdgeGraph::weights() const {
  return sum_over_nodes(*this, [](const EdgeNode& n) { return n.weights; });
}

std::int64_t EdgeGraph::parameters() const {
  return sum_over_nodes(*this, [](const EdgeNode& n) { return n.parameters; });
}

std::int64_t EdgeGraph::written_elements() const {
  return sum_over_nodes(*this, [this](const EdgeNode& n) {
    return n.op == EdgeOp::kView ? 0 : written_by(*this, n);
  });
}

std::string unknown_ops_note(const EdgeGraph& graph) {
  std::map<std::string, int> counts;
  int nodes = 0;
  std::int64_t elements = 0;
  bool dynamic = false;
  for (const EdgeNode& n : graph.nodes) {
    if (n.op != EdgeOp::kUnknown) continue;
    ++nodes;
    ++counts[n.type];
    elements += written_by(graph, n);
    for (const int t : n.outputs) dynamic |= graph.tensors[index(t)].dynamic;
  }
  if (nodes == 0) return "";
  constexpr std::size_t kMostNamed = 8;
  std::vector<std::string> named;
  for (const auto& [type, count] : counts) {
    if (named.size() == kMostNamed) {
      named.push_back(fmt::format("and {} more types", counts.size() - kMostNamed));
      break;
    }
    named.push_back(fmt::format("{} {}", shown_name(type), count));
  }
  const std::int64_t written = graph.written_elements();
  return fmt::format(
      "{} of {} nodes are of types that are not known ({}); {} {:.1f} % of the graph's elements",
      nodes, graph.nodes.size(), fmt::join(named, ", "),
      dynamic ? "they write, as far as their shapes are known," : "they write",
      written == 0 ? 0.0 : 100.0 * static_cast<double>(elements) / static_cast<double>(written));
}

}  // namespace orrery
