// Layers with weights and windows. The keys are those of docs/developer-guide/operators.md of ncnn.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "orrery/base/error.h"
#include "orrery/edge/graph/ncnn_layer.h"

namespace orrery {
namespace {

constexpr std::int64_t kSameUpper = -233, kSameLower = -234;  // paddings of ncnn's converters
constexpr int kWeightKey = 6, kInnerProductWeightKey = 2;

// activation_type: 0 none, 1 relu, 2 leaky relu, 3 clip, 4 sigmoid, 5 mish, 6 hard swish, 7 GELU
EdgeActivation fused_activation(const NcnnLayer& layer, int key = 9) {
  constexpr std::array kActivations = {EdgeActivation::kNone,      EdgeActivation::kRelu,
                                       EdgeActivation::kLeakyRelu, EdgeActivation::kRelu6,
                                       EdgeActivation::kSigmoid,   EdgeActivation::kMish,
                                       EdgeActivation::kHardSwish, EdgeActivation::kGelu};
  const std::int64_t type = layer.params.integer(key, 0);
  if (type < 0 || type >= static_cast<std::int64_t>(kActivations.size())) {
    throw InputError(fmt::format("an activation type of {}", type));
  }
  return kActivations.at(static_cast<std::size_t>(type));
}

struct Window {
  WindowAxis h, w;
  bool same = false;  // the output has the size of the input over the stride
};

Window window_of(NcnnLayer& layer, bool one_axis) {
  const NcnnParams& p = layer.params;
  Window window;
  window.w = {p.integer(1, 0), p.integer(3, 1), p.integer(2, 1), 0};
  window.h = one_axis ? WindowAxis{}
                      : WindowAxis{p.integer(11, window.w.kernel), p.integer(13, window.w.stride),
                                   p.integer(12, window.w.dilation), 0};
  const std::int64_t left = p.integer(4, 0), right = p.integer(15, left);
  const std::int64_t top = one_axis ? 0 : p.integer(14, left);
  const std::int64_t bottom = one_axis ? 0 : p.integer(16, top);
  window.same = left == kSameUpper || left == kSameLower;
  if (!window.same) {
    window.w.pads = left + right;
    window.h.pads = top + bottom;
  }
  layer.node.kernel = {window.h.kernel, window.w.kernel};
  layer.node.stride = {window.h.stride, window.w.stride};
  layer.node.dilation = {window.h.dilation, window.w.dilation};
  return window;
}

// Channels, height and width of an image; of a sequence of rows the rows are channels.
struct Image {
  std::int64_t c = 0, h = 0, w = 0;
};
Image image_of(const EdgeDims& shape, bool one_axis) {
  if (one_axis && shape.size() == 3) return {shape[1], 1, shape[2]};
  if (!one_axis && shape.size() == 4) return {shape[1], shape[2], shape[3]};
  throw InputError(fmt::format("it cannot read a blob of shape {}", shape_text(shape)));
}
EdgeDims image_dims(const Image& image, bool one_axis) {
  return one_axis ? EdgeDims{1, image.c, image.w} : EdgeDims{1, image.c, image.h, image.w};
}

std::int64_t positive(std::int64_t value, std::string_view what) {
  if (value < 1) throw InputError(fmt::format("{} of {}", what, value));
  return value;
}

std::int64_t same_size(std::int64_t size, const WindowAxis& axis) {
  return (size + positive(axis.stride, "a stride") - 1) / axis.stride;
}

template <bool kOneAxis, bool kTransposed>
void convolve(NcnnLayer& layer) {
  const Image in = image_of(layer.input(), kOneAxis);
  const Window window = window_of(layer, kOneAxis);
  const NcnnParams& p = layer.params;
  EdgeNode& node = layer.node;
  node.groups = positive(p.integer(7, 1), "a number of groups");
  node.activation = fused_activation(layer);
  Image out{positive(p.integer(0, 0), "a number of output channels"), 1, 1};
  if (in.c % node.groups != 0 || out.c % node.groups != 0) {
    throw InputError(
        fmt::format("{} groups of {} input and {} output channels", node.groups, in.c, out.c));
  }
  if constexpr (kTransposed) {
    const std::int64_t pad_w = p.integer(18, 0);
    out.w = p.integer(20, 0) > 0 || window.same ? positive(p.integer(20, 0), "an output width")
                                                : transposed_size(in.w, window.w, pad_w);
    out.h = kOneAxis               ? 1
            : p.integer(20, 0) > 0 ? positive(p.integer(21, p.integer(20, 0)), "an output height")
                                   : transposed_size(in.h, window.h, p.integer(19, pad_w));
  } else {
    out.w = window.same ? same_size(in.w, window.w) : window_positions(in.w, window.w);
    out.h = window.same ? same_size(in.h, window.h) : window_positions(in.h, window.h);
  }
  const std::int64_t weights =
      checked_product({in.c / node.groups, out.c, window.h.kernel, window.w.kernel});
  layer.set_weights(weights, checked_product({out.h, out.w}), kWeightKey);
  node.parameters = node.weights + (p.integer(5, 0) != 0 ? out.c : 0);
  layer.outputs = {image_dims(out, kOneAxis)};
}

void inner_product(NcnnLayer& layer) {
  const EdgeDims& in = layer.input();
  const std::int64_t outputs = positive(layer.params.integer(0, 0), "a number of outputs");
  const std::int64_t given = layer.params.integer(kInnerProductWeightKey, 0);
  // A matrix whose rows fit the weights is multiplied row by row.
  const bool rows = in.size() == 3 && in[1] > 1 && checked_product({in[2], outputs}) == given;
  const std::int64_t width = rows ? in[2] : checked_product(in);
  layer.set_weights(checked_product({width, outputs}), rows ? in[1] : 1, kInnerProductWeightKey);
  layer.node.parameters = layer.node.weights + (layer.params.integer(1, 0) != 0 ? outputs : 0);
  layer.node.activation = fused_activation(layer);
  layer.outputs = {rows ? EdgeDims{1, in[1], outputs} : EdgeDims{1, outputs}};
}

// Rows and columns of a matrix operand.
std::pair<std::int64_t, std::int64_t> matrix(const EdgeDims& shape, bool transposed) {
  if (shape.size() < 2 || shape.size() > 3) {
    throw InputError(fmt::format("{} is no matrix", shape_text(shape)));
  }
  const std::int64_t rows = shape.size() == 3 ? shape[1] : 1;
  return transposed ? std::pair{shape.back(), rows} : std::pair{rows, shape.back()};
}

void gemm(NcnnLayer& layer) {
  const NcnnParams& p = layer.params;
  std::int64_t m = p.integer(7, 0), n = p.integer(8, 0), k = p.integer(9, 0);
  std::size_t next = 0;
  const bool constant_a = p.integer(4, 0) != 0, constant_b = p.integer(5, 0) != 0;
  if (!constant_a) std::tie(m, k) = matrix(layer.input(next++), p.integer(2, 0) != 0);
  if (!constant_b) {
    const auto [b_k, b_n] = matrix(layer.input(next++), p.integer(3, 0) != 0);
    if (b_k != k && !constant_a) {
      throw InputError(fmt::format("products over {} and {} columns", k, b_k));
    }
    n = b_n, k = b_k;
  } else if (!constant_a && p.has(9) && p.integer(9, 0) != k) {
    throw InputError(fmt::format("weights for {} columns, and {} are read", p.integer(9, 0), k));
  }
  layer.node.macs = checked_product({positive(m, "rows"), positive(n, "columns"), k});
  layer.node.weights =
      (constant_a ? checked_product({m, k}) : 0) + (constant_b ? checked_product({k, n}) : 0);
  layer.node.parameters = layer.node.weights;
  if (p.integer(6, 0) != 0) {
    const std::int64_t kind =
        p.integer(10, 0);  // of the constant C: 1 a column, 2 and 4 rows, 3 all
    layer.node.parameters += kind == 3 ? checked_product({m, n}) : kind == 4 ? n : kind > 0 ? m : 1;
  }
  layer.node.op = constant_a || constant_b ? EdgeOp::kInnerProduct : EdgeOp::kMatMul;
  layer.outputs = {p.integer(14, 0) != 0 ? EdgeDims{1, n, m} : EdgeDims{1, m, n}};
}

void matmul(NcnnLayer& layer) {
  EdgeDims a = layer.input(0), b = layer.input(1);
  if (a.size() < 3 || b.size() < 3) throw InputError("it needs two matrices");
  if (layer.params.integer(0, 0) != 0) std::swap(b[b.size() - 1], b[b.size() - 2]);
  const std::int64_t m = a[a.size() - 2], k = a.back(), n = b.back();
  if (b[b.size() - 2] != k) {
    throw InputError(fmt::format("products over {} and {} columns", k, b[b.size() - 2]));
  }
  a.resize(a.size() - 2);
  b.resize(b.size() - 2);
  EdgeDims out = broadcast(a, b);
  layer.node.macs = checked_product({checked_product(out), m, n, k});
  out.push_back(m);
  out.push_back(n);
  layer.outputs = {std::move(out)};
}

void attention(NcnnLayer& layer) {
  const NcnnParams& p = layer.params;
  const auto [rows, columns] = matrix(layer.input(), false);
  const std::int64_t width = positive(p.integer(0, 0), "an embedding");
  const std::int64_t projection = positive(p.integer(2, 0), "a number of weights");
  const std::int64_t keys = layer.inputs.size() > 1 ? matrix(layer.input(1), false).first : rows;
  const std::int64_t key_width = p.integer(3, width), value_width = p.integer(4, width);
  if (projection != checked_product({columns, width})) {
    throw InputError(
        fmt::format("{} weights for a projection of {} to {} columns", projection, columns, width));
  }
  const std::int64_t of_keys = checked_product({key_width, width}),
                     of_values = checked_product({value_width, width});
  layer.node.weights = 2 * projection + of_keys + of_values;
  layer.node.parameters = layer.node.weights + 3 * width + columns;
  layer.node.macs = checked_product({2 * projection, rows}) +
                    checked_product({of_keys + of_values, keys}) +
                    checked_product({2, rows, keys, width});
  layer.outputs = {EdgeDims{1, rows, columns}};
}

// gates: 4 of an LSTM, 3 of a GRU, 1 of an RNN
template <std::int64_t kGates>
void recurrent(NcnnLayer& layer) {
  const auto [steps, columns] = matrix(layer.input(), false);
  const std::int64_t width = positive(layer.params.integer(0, 0), "a number of outputs");
  const std::int64_t directions = layer.params.integer(2, 0) == 2 ? 2 : 1;
  layer.node.weights = checked_product({directions, kGates, width, columns + width});
  layer.node.parameters = layer.node.weights + directions * kGates * width;
  layer.node.macs = checked_product({layer.node.weights, steps});
  layer.outputs = {EdgeDims{1, steps, width * directions}};
}

void embed(NcnnLayer& layer) {
  const std::int64_t width = positive(layer.params.integer(0, 0), "a number of outputs");
  layer.node.parameters =
      checked_product({width, positive(layer.params.integer(1, 0), "an input dimension")});
  layer.outputs = {EdgeDims{1, checked_product(layer.input()), width}};
}

void pool(NcnnLayer& layer) {
  const NcnnParams& p = layer.params;
  const Image in = image_of(layer.input(), false);
  EdgeNode& node = layer.node;
  if (p.integer(4, 0) != 0) {
    node.op = EdgeOp::kGlobalPool;
    layer.outputs = {EdgeDims{1, in.c}};
    return;
  }
  if (p.integer(7, 0) != 0) {  // adaptive: the output size is given, -233 for that of the input
    const std::int64_t w = p.integer(8, 0), h = p.integer(18, w);
    layer.outputs = {EdgeDims{1, in.c, h == -233 ? in.h : positive(h, "an output height"),
                              w == -233 ? in.w : positive(w, "an output width")}};
    return;
  }
  WindowAxis w{p.integer(1, 0), p.integer(2, 1), 1, 0};
  WindowAxis h{p.integer(11, w.kernel), p.integer(12, w.stride), 1, 0};
  node.kernel = {h.kernel, w.kernel};
  node.stride = {h.stride, w.stride};
  const std::int64_t mode = p.integer(5, 0);  // 0 full, 1 valid, 2 and 3 same
  if (mode < 0 || mode > 3) throw InputError(fmt::format("a padding mode of {}", mode));
  if (mode >= 2) {
    layer.outputs = {EdgeDims{1, in.c, same_size(in.h, h), same_size(in.w, w)}};
    return;
  }
  const std::int64_t left = p.integer(3, 0), top = p.integer(13, left);
  w.pads = left + p.integer(14, left);
  h.pads = top + p.integer(15, top);
  const bool full = mode == 0;
  layer.outputs = {
      EdgeDims{1, in.c, window_positions(in.h, h, full), window_positions(in.w, w, full)}};
}

}  // namespace

const std::vector<NcnnKind>& ncnn_product_kinds() {
  constexpr EdgeActivation kNone = EdgeActivation::kNone;
  static const std::vector<NcnnKind> kKinds = {
      {"Convolution", EdgeOp::kConvolution, kNone, convolve<false, false>},
      {"ConvolutionDepthWise", EdgeOp::kConvolution, kNone, convolve<false, false>},
      {"Convolution1D", EdgeOp::kConvolution, kNone, convolve<true, false>},
      {"ConvolutionDepthWise1D", EdgeOp::kConvolution, kNone, convolve<true, false>},
      {"Deconvolution", EdgeOp::kDeconvolution, kNone, convolve<false, true>},
      {"DeconvolutionDepthWise", EdgeOp::kDeconvolution, kNone, convolve<false, true>},
      {"Deconvolution1D", EdgeOp::kDeconvolution, kNone, convolve<true, true>},
      {"InnerProduct", EdgeOp::kInnerProduct, kNone, inner_product},
      {"Gemm", EdgeOp::kInnerProduct, kNone, gemm},
      {"MatMul", EdgeOp::kMatMul, kNone, matmul},
      {"MultiHeadAttention", EdgeOp::kAttention, kNone, attention},
      {"LSTM", EdgeOp::kRecurrent, kNone, recurrent<4>},
      {"GRU", EdgeOp::kRecurrent, kNone, recurrent<3>},
      {"RNN", EdgeOp::kRecurrent, kNone, recurrent<1>},
      {"Embed", EdgeOp::kGather, kNone, embed},
      {"Pooling", EdgeOp::kPool, kNone, pool},
  };
  return kKinds;
}

}  // namespace orrery
