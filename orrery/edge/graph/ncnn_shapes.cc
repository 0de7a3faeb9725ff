// Layers without products: activations, norms, sums and changes of shape. The keys are those of
// docs/developer-guide/operators.md of ncnn.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "orrery/base/error.h"
#include "orrery/edge/graph/ncnn_layer.h"

namespace orrery {
namespace {

constexpr std::int64_t kRest = -233;  // "what is left" in sizes

void same(NcnnLayer& layer) { layer.outputs = {layer.input()}; }
void dynamic(NcnnLayer& layer) { layer.dynamic = true; }

void relu(NcnnLayer& layer) {
  same(layer);
  if (layer.params.number(0, 0) != 0) layer.node.activation = EdgeActivation::kLeakyRelu;
}

// A norm or scale whose key 0 counts channels, with so many constants of each.
template <std::int64_t kConstants>
void norm(NcnnLayer& layer) {
  same(layer);
  layer.node.parameters = checked_product({layer.params.integer(0, 0), kConstants});
}
void scale(NcnnLayer& layer) {
  same(layer);
  // A second input holds the scales where key 0 is kRest.
  const std::int64_t count = std::max<std::int64_t>(layer.params.integer(0, 0), 0);
  layer.node.parameters = count * (layer.params.integer(1, 0) != 0 ? 2 : 1);
}
void group_norm(NcnnLayer& layer) {
  same(layer);
  layer.node.parameters = checked_product({layer.params.integer(1, 0), 2});
}
void prelu(NcnnLayer& layer) {
  same(layer);
  layer.node.parameters = checked_product({layer.params.integer(0, 0)});
}

// ncnn's rule: of blobs of different ranks the smaller one is spread over the larger.
EdgeDims joined(const EdgeDims& a, const EdgeDims& b) {
  if (a.size() == b.size()) return broadcast(a, b);
  const EdgeDims& larger = a.size() > b.size() ? a : b;
  const EdgeDims& smaller = a.size() > b.size() ? b : a;
  const std::int64_t elements = checked_product(smaller);
  if (elements != 0 && checked_product(larger) % elements != 0) {
    throw InputError(
        fmt::format("the shapes {} and {} do not fit together", shape_text(a), shape_text(b)));
  }
  return larger;
}

template <bool kAlwaysAdds>
void elementwise(NcnnLayer& layer) {
  EdgeDims out = layer.input();
  for (std::size_t i = 1; i < layer.inputs.size(); ++i) out = joined(out, layer.inputs[i]);
  const std::int64_t type = layer.params.integer(0, 0);
  layer.node.adds = layer.inputs.size() > 1 && (kAlwaysAdds ? type == 1 : type == 0 || type == 1);
  if (layer.inputs.size() == 1) {
    layer.node.op = EdgeOp::kActivation;
    layer.node.activation = EdgeActivation::kOther;
  }
  layer.outputs = {std::move(out)};
}

// The position of one of ncnn's axes (which count channels first, without the batch) in a shape.
std::size_t axis_behind_batch(std::int64_t axis, const EdgeDims& shape) {
  return axis_of(axis, shape.size() - 1) + 1;
}

void concat(NcnnLayer& layer) {
  EdgeDims out = layer.input();
  const std::size_t axis = axis_behind_batch(layer.params.integer(0, 0), out);
  for (std::size_t i = 1; i < layer.inputs.size(); ++i) {
    const EdgeDims& in = layer.inputs[i];
    for (std::size_t d = 0; d < std::max(in.size(), out.size()); ++d) {
      if (in.size() != out.size() || (d != axis && in[d] != out[d])) {
        throw InputError(fmt::format("the shapes {} and {} do not fit together", shape_text(out),
                                     shape_text(in)));
      }
    }
    out[axis] += in[axis];
    check_dims(out);
  }
  layer.outputs = {std::move(out)};
}

void slice(NcnnLayer& layer) {
  const EdgeDims& in = layer.input();
  const std::size_t axis = axis_behind_batch(layer.params.integer(1, 0), in);
  std::vector<std::int64_t> sizes = layer.params.integers(0);
  if (sizes.empty()) sizes.assign(layer.output_count, kRest);
  if (sizes.size() != layer.output_count || sizes.empty()) {
    throw InputError(fmt::format("{} slices for {} outputs", sizes.size(), layer.output_count));
  }
  std::int64_t left = in[axis];
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::int64_t parts = static_cast<std::int64_t>(sizes.size() - i);
    const std::int64_t size = sizes[i] == kRest ? left / parts : sizes[i];
    if (size < 1 || size > left) {
      throw InputError(fmt::format("slices that do not fit into {} positions", in[axis]));
    }
    left -= size;
    layer.outputs.push_back(in);
    layer.outputs.back()[axis] = size;
  }
}

void crop(NcnnLayer& layer) {
  EdgeDims out = layer.input();
  const NcnnParams& p = layer.params;
  const auto starts = p.integers(9), ends = p.integers(10);
  auto axes = p.integers(11);
  if (!starts.empty()) {
    if (axes.empty()) {
      axes.resize(starts.size());
      std::iota(axes.begin(), axes.end(), 0);
    }
    if (ends.size() != starts.size() || axes.size() != starts.size()) {
      throw InputError("starts, ends and axes must be as many");
    }
    for (std::size_t i = 0; i < starts.size(); ++i) {
      std::int64_t& size = out[axis_behind_batch(axes[i], out)];
      const std::int64_t begin =
          std::clamp<std::int64_t>(starts[i] < 0 ? starts[i] + size : starts[i], 0, size);
      const std::int64_t end =
          std::clamp<std::int64_t>(ends[i] < 0 ? ends[i] + size : ends[i], begin, size);
      size = end - begin;
    }
  } else if (layer.inputs.size() > 1) {
    out = layer.inputs[1];
  } else {
    // Offsets and sizes of w, h and c: keys 0 to 2, 3 to 5 and, from the other end, 6 to 8.
    for (std::size_t k = 0; k + 1 < out.size() && k < 3; ++k) {
      const int key = static_cast<int>(k);
      std::int64_t& size = out[out.size() - 1 - k];
      const std::int64_t wanted = p.integer(3 + key, 0);
      const std::int64_t rest = size - p.integer(key, 0) - p.integer(6 + key, 0);
      size = wanted > 0 ? wanted : rest;
      if (size < 1 || size > rest) throw InputError("a crop that is not inside its input");
    }
  }
  layer.outputs = {std::move(out)};
}

void pad(NcnnLayer& layer) {
  EdgeDims out = layer.input();
  const NcnnParams& p = layer.params;
  out.back() += p.integer(2, 0) + p.integer(3, 0);
  if (out.size() > 2) out[out.size() - 2] += p.integer(0, 0) + p.integer(1, 0);
  if (out.size() > 3) out[1] += p.integer(7, 0) + p.integer(8, 0);
  layer.outputs = {std::move(out)};
}

void flatten(NcnnLayer& layer) { layer.outputs = {EdgeDims{1, checked_product(layer.input())}}; }

void reshape(NcnnLayer& layer) {
  const EdgeDims& in = layer.input();
  EdgeDims out = {1};
  for (const int key : {2, 1, 0}) {
    const std::int64_t size = layer.params.integer(key, kRest);
    if (size != kRest) out.push_back(size);
  }
  if (out.size() == 1) return same(layer);
  // 0 is the size of the input there, -1 what is left.
  std::int64_t known = 1;
  std::size_t open = 0;
  for (std::size_t d = 1; d < out.size(); ++d) {
    const std::size_t from_end = out.size() - d;
    if (out[d] == 0 && from_end < in.size()) out[d] = in[in.size() - from_end];
    if (out[d] == -1 && open == 0) {
      open = d;
    } else {
      known = checked_product({known, out[d]});
    }
  }
  const std::int64_t elements = checked_product(in);
  if (open != 0) out[open] = known == 0 ? 0 : elements / known;
  if (checked_product(out) != elements) {
    throw InputError(fmt::format("a reshape of {} to {}", shape_text(in), shape_text(out)));
  }
  layer.outputs = {std::move(out)};
}

void squeeze(NcnnLayer& layer) {
  const EdgeDims& in = layer.input();
  std::vector<bool> goes(in.size(), false);
  const NcnnParams& p = layer.params;
  for (std::size_t k = 0; k < 3 && k + 1 < in.size(); ++k) {
    if (p.integer(static_cast<int>(k), 0) != 0) goes[in.size() - 1 - k] = true;
  }
  for (const std::int64_t axis : p.integers(3)) goes[axis_behind_batch(axis, in)] = true;
  EdgeDims out = {1};
  for (std::size_t d = 1; d < in.size(); ++d) {
    if (!goes[d] || in[d] != 1) out.push_back(in[d]);
  }
  if (out.size() == 1) out.push_back(1);
  layer.outputs = {std::move(out)};
}

void expand_dims(NcnnLayer& layer) {
  EdgeDims out = layer.input();
  const NcnnParams& p = layer.params;
  std::vector<std::int64_t> axes = p.integers(3);
  if (axes.empty()) {
    if (p.integer(2, 0) != 0) axes.push_back(0);
    if (p.integer(1, 0) != 0) axes.push_back(out.size() == 2 ? 0 : 1);
    if (p.integer(0, 0) != 0) axes.push_back(-1);
  }
  for (const std::int64_t axis : axes) {
    const std::size_t at = axis_of(axis, out.size()) + 1;
    out.insert(out.begin() + static_cast<std::ptrdiff_t>(at), 1);
    check_dims(out);
  }
  layer.outputs = {std::move(out)};
}

void permute(NcnnLayer& layer) {
  const EdgeDims& in = layer.input();
  const std::int64_t order = layer.params.integer(0, 0);
  EdgeDims out = in;
  if (in.size() == 3) {
    if (order == 1) std::swap(out[1], out[2]);
  } else if (in.size() == 4 && order >= 0 && order < 6) {
    // From the innermost axis outwards: which axis of the input.
    constexpr std::size_t kC = 1, kH = 2, kW = 3;
    constexpr std::size_t kOrders[6][3] = {{kW, kH, kC}, {kH, kW, kC}, {kW, kC, kH},
                                           {kC, kW, kH}, {kH, kC, kW}, {kC, kH, kW}};
    for (std::size_t i = 0; i < 3; ++i) out[3 - i] = in[kOrders[order][i]];
  } else if (in.size() != 2) {
    throw InputError(fmt::format("order {} of a blob {}", order, shape_text(in)));
  }
  layer.outputs = {std::move(out)};
}

void shuffle_channels(NcnnLayer& layer) {
  same(layer);
  layer.node.groups = std::max<std::int64_t>(layer.params.integer(0, 1), 1);
}

// Depth to space, or space to depth.
template <bool kToSpace>
void shuffle_pixels(NcnnLayer& layer) {
  EdgeDims out = layer.input();
  const std::int64_t factor = layer.params.integer(0, 1);
  if (out.size() != 4 || factor < 1 || factor > (1 << 15)) {
    throw InputError(fmt::format("factor {} for a blob {}", factor, shape_text(out)));
  }
  if (kToSpace) {
    out = {1, out[1] / (factor * factor), out[2] * factor, out[3] * factor};
  } else {
    out = {1, out[1] * factor * factor, out[2] / factor, out[3] / factor};
  }
  layer.outputs = {std::move(out)};
}

void resize(NcnnLayer& layer) {
  EdgeDims out = layer.input();
  const NcnnParams& p = layer.params;
  if (out.size() == 2) out = {1, out[1], 1, 1};  // a vector is a channel of one pixel each
  if (out.size() != 4) throw InputError(fmt::format("a resize of {}", shape_text(out)));
  if (layer.inputs.size() > 1) {
    const EdgeDims& like = layer.inputs[1];
    if (like.size() != 4) throw InputError("its second input must be an image");
    out[2] = like[2];
    out[3] = like[3];
  } else {
    const auto sized = [&](std::int64_t size, int target, int scaled) {
      if (p.integer(target, 0) > 0) return p.integer(target, 0);
      const double wanted = static_cast<double>(size) * p.number(scaled, 1);
      if (!(wanted >= 1 && wanted < 1e9)) throw InputError("a resize out of range");
      return static_cast<std::int64_t>(wanted);
    };
    out[2] = sized(out[2], 3, 1);
    out[3] = sized(out[3], 4, 2);
  }
  layer.outputs = {std::move(out)};
}

void reduce(NcnnLayer& layer) {
  const EdgeDims& in = layer.input();
  const NcnnParams& p = layer.params;
  const bool keep = p.integer(4, 0) != 0;
  const std::vector<std::int64_t> axes = p.integers(3);
  std::vector<bool> goes(in.size(), p.integer(1, 1) != 0 || axes.empty());
  goes[0] = false;
  if (p.integer(1, 1) == 0) {
    // Files without key 5 count the batch as axis 0.
    for (std::int64_t axis : axes) {
      if (p.integer(5, 0) == 0 && axis > 0) --axis;
      goes[axis_behind_batch(axis, in)] = true;
    }
  }
  EdgeDims out = {1};
  for (std::size_t d = 1; d < in.size(); ++d) {
    if (!goes[d] || keep) out.push_back(goes[d] ? 1 : in[d]);
  }
  if (out.size() == 1) out.push_back(1);
  layer.outputs = {std::move(out)};
}

void arg_max(NcnnLayer& layer) {
  const std::int64_t wanted = layer.params.integer(1, 1);
  if (wanted < 1) throw InputError(fmt::format("the first {} values", wanted));
  layer.outputs = {EdgeDims{1, wanted}};
}

void prior_box(NcnnLayer& layer) {
  const EdgeDims& in = layer.input();
  const NcnnParams& p = layer.params;
  if (in.size() != 4) throw InputError("it needs an image");
  const auto least = static_cast<std::int64_t>(p.count(0)),
             most = static_cast<std::int64_t>(p.count(1));
  const std::int64_t ratios =
      static_cast<std::int64_t>(p.count(2)) * (p.integer(7, 1) != 0 ? 2 : 1);
  layer.outputs = {EdgeDims{1, 2, checked_product({4, in[2], in[3], least * (ratios + 1) + most})}};
}

}  // namespace

const std::vector<NcnnKind>& ncnn_shape_kinds() {
  using A = EdgeActivation;
  static const std::vector<NcnnKind> kKinds = {
      {"ReLU", EdgeOp::kActivation, A::kRelu, relu},
      {"Clip", EdgeOp::kActivation, A::kRelu6, same},
      {"PReLU", EdgeOp::kActivation, A::kPRelu, prelu},
      {"Sigmoid", EdgeOp::kActivation, A::kSigmoid, same},
      {"HardSigmoid", EdgeOp::kActivation, A::kHardSigmoid, same},
      {"Swish", EdgeOp::kActivation, A::kSwish, same},
      {"HardSwish", EdgeOp::kActivation, A::kHardSwish, same},
      {"GELU", EdgeOp::kActivation, A::kGelu, same},
      {"TanH", EdgeOp::kActivation, A::kTanh, same},
      {"ELU", EdgeOp::kActivation, A::kElu, same},
      {"SELU", EdgeOp::kActivation, A::kElu, same},
      {"CELU", EdgeOp::kActivation, A::kElu, same},
      {"Mish", EdgeOp::kActivation, A::kMish, same},
      {"UnaryOp", EdgeOp::kActivation, A::kOther, same},
      {"AbsVal", EdgeOp::kActivation, A::kOther, same},
      {"BNLL", EdgeOp::kActivation, A::kOther, same},
      {"Exp", EdgeOp::kActivation, A::kOther, same},
      {"Log", EdgeOp::kActivation, A::kOther, same},
      {"Power", EdgeOp::kActivation, A::kOther, same},
      {"Softplus", EdgeOp::kActivation, A::kOther, same},
      {"Threshold", EdgeOp::kActivation, A::kOther, same},
      {"BatchNorm", EdgeOp::kBatchNorm, A::kNone, norm<2>},
      {"Bias", EdgeOp::kBatchNorm, A::kNone, norm<1>},
      {"Scale", EdgeOp::kBatchNorm, A::kNone, scale},
      {"LayerNorm", EdgeOp::kLayerNorm, A::kNone, norm<2>},
      {"RMSNorm", EdgeOp::kLayerNorm, A::kNone, norm<1>},
      {"InstanceNorm", EdgeOp::kLayerNorm, A::kNone, norm<2>},
      {"GroupNorm", EdgeOp::kLayerNorm, A::kNone, group_norm},
      {"MVN", EdgeOp::kLayerNorm, A::kNone, same},
      {"Normalize", EdgeOp::kLayerNorm, A::kNone, same},
      {"LRN", EdgeOp::kLrn, A::kNone, same},
      {"BinaryOp", EdgeOp::kElementwise, A::kNone, elementwise<false>},
      {"Eltwise", EdgeOp::kElementwise, A::kNone, elementwise<true>},
      {"Concat", EdgeOp::kConcat, A::kNone, concat},
      {"Slice", EdgeOp::kSlice, A::kNone, slice},
      {"Crop", EdgeOp::kSlice, A::kNone, crop},
      {"Padding", EdgeOp::kPad, A::kNone, pad},
      {"Permute", EdgeOp::kPermute, A::kNone, permute},
      {"ShuffleChannel", EdgeOp::kShuffle, A::kNone, shuffle_channels},
      {"PixelShuffle", EdgeOp::kShuffle, A::kNone, shuffle_pixels<true>},
      {"Reorg", EdgeOp::kShuffle, A::kNone, shuffle_pixels<false>},
      {"Interp", EdgeOp::kResize, A::kNone, resize},
      {"Softmax", EdgeOp::kSoftmax, A::kNone, same},
      {"Reduction", EdgeOp::kReduce, A::kNone, reduce},
      {"ArgMax", EdgeOp::kReduce, A::kNone, arg_max},
      {"PriorBox", EdgeOp::kDetection, A::kNone, prior_box},
      {"DetectionOutput", EdgeOp::kDetection, A::kNone, dynamic},
      {"YoloDetectionOutput", EdgeOp::kDetection, A::kNone, dynamic},
      {"Yolov3DetectionOutput", EdgeOp::kDetection, A::kNone, dynamic},
      {"Proposal", EdgeOp::kDetection, A::kNone, dynamic},
      {"Cast", EdgeOp::kCast, A::kNone, same},
      {"Quantize", EdgeOp::kCast, A::kNone, same},
      {"Dequantize", EdgeOp::kCast, A::kNone, same},
      {"Requantize", EdgeOp::kCast, A::kNone, same},
      {"Packing", EdgeOp::kView, A::kNone, same},
      {"Split", EdgeOp::kView, A::kNone, same},
      {"Noop", EdgeOp::kView, A::kNone, same},
      {"Dropout", EdgeOp::kView, A::kNone, same},
      {"Flatten", EdgeOp::kView, A::kNone, flatten},
      {"Reshape", EdgeOp::kView, A::kNone, reshape},
      {"Squeeze", EdgeOp::kView, A::kNone, squeeze},
      {"ExpandDims", EdgeOp::kView, A::kNone, expand_dims},
  };
  return kKinds;
}

}  // namespace orrery
