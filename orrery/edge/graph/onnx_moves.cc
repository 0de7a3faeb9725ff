// Operators of ONNX that move data or only rename its shape. Values of small constants move along.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "orrery/base/error.h"
#include "orrery/edge/graph/onnx_op.h"

namespace orrery {
namespace {

void keep_values(OnnxOp& op) { op.outputs[0].values = op.input().values; }

void identity(OnnxOp& op) {
  op.same();
  keep_values(op);
  for (std::size_t i = 1; i < op.outputs.size(); ++i) op.set(op.shape(), i).type = kOnnxBool;
}

void reshape(OnnxOp& op) {
  const EdgeDims& in = op.shape();
  const auto wanted = op.list("shape", 1);
  if (!wanted) throw InputError("a reshape without a shape");
  EdgeDims out = *wanted;
  const bool zeros_stay = op.integer("allowzero", 0) != 0;
  std::int64_t known = 1;
  std::optional<std::size_t> open;
  for (std::size_t d = 0; d < out.size(); ++d) {
    if (out[d] == 0 && !zeros_stay) {
      if (d >= in.size()) throw InputError("a reshape that keeps a dimension which is not there");
      out[d] = in[d];
    }
    if (out[d] == -1 && !open) {
      open = d;
    } else {
      known = checked_product({known, out[d]});
    }
  }
  const std::int64_t elements = checked_product(in);
  if (open) out[*open] = known == 0 ? 0 : elements / known;
  if (out.size() > kMostDimensions || checked_product(out) != elements) {
    throw InputError(fmt::format(
        "a reshape of {} to {}", shape_text(in),
        shape_text(std::span(*wanted).first(std::min(wanted->size(), kMostDimensions)))));
  }
  op.set(std::move(out));
  keep_values(op);
}

void flatten(OnnxOp& op) {
  const EdgeDims& in = op.shape();
  const std::int64_t axis = op.integer("axis", 1);
  const std::size_t split =
      axis == static_cast<std::int64_t>(in.size()) ? in.size() : axis_of(axis, in.size());
  const std::span all(in);
  op.set({checked_product(all.first(split)), checked_product(all.subspan(split))});
  keep_values(op);
}

void squeeze(OnnxOp& op) {
  const EdgeDims& in = op.shape();
  const auto axes = op.list("axes", 1);
  std::vector<bool> goes(in.size(), false);
  if (axes) {
    for (const std::int64_t a : *axes) goes[axis_of(a, in.size())] = true;
  } else {
    for (std::size_t d = 0; d < in.size(); ++d) goes[d] = in[d] == 1;
  }
  EdgeDims out;
  for (std::size_t d = 0; d < in.size(); ++d) {
    if (goes[d] && in[d] != 1) throw InputError(fmt::format("a squeeze of {}", shape_text(in)));
    if (!goes[d]) out.push_back(in[d]);
  }
  op.set(std::move(out));
  keep_values(op);
}

void unsqueeze(OnnxOp& op) {
  const EdgeDims& in = op.shape();
  const auto axes = op.list("axes", 1);
  if (!axes) throw InputError("an unsqueeze without axes");
  const std::size_t rank = in.size() + axes->size();
  if (rank > kMostDimensions) throw InputError("an unsqueeze to too many dimensions");
  std::vector<bool> added(rank, false);
  for (const std::int64_t a : *axes) added[axis_of(a, rank)] = true;
  if (std::count(added.begin(), added.end(), true) != static_cast<std::ptrdiff_t>(axes->size())) {
    throw InputError("an unsqueeze with an axis twice");
  }
  EdgeDims out;
  auto next = in.begin();
  for (std::size_t d = 0; d < rank; ++d) out.push_back(added[d] ? 1 : *next++);
  op.set(std::move(out));
  keep_values(op);
}

void transpose(OnnxOp& op) {
  const EdgeDims& in = op.shape();
  std::vector<std::int64_t> order = op.integers("perm");
  if (order.empty()) {
    order.resize(in.size());
    std::iota(order.rbegin(), order.rend(), 0);
  }
  EdgeDims out;
  std::vector<bool> seen(in.size(), false);
  bool moves = false;
  std::int64_t last = -1;  // of the axes that hold more than one position
  for (const std::int64_t a : order) {
    const std::size_t axis = axis_of(a, in.size());
    if (seen[axis]) throw InputError("an order of axes with one twice");
    seen[axis] = true;
    out.push_back(in[axis]);
    if (in[axis] == 1) continue;
    moves |= static_cast<std::int64_t>(axis) < last;
    last = static_cast<std::int64_t>(axis);
  }
  if (out.size() != in.size()) throw InputError("an order of other axes than its input has");
  op.set(std::move(out));
  if (!moves) {
    op.node.op = EdgeOp::kView;
    keep_values(op);
  }
}

void concat(OnnxOp& op) {
  EdgeDims out = op.shape();
  const std::size_t axis = axis_of(op.integer("axis", 1), out.size());
  for (std::size_t i = 1; i < op.inputs.size(); ++i) {
    const EdgeDims& in = op.shape(i);
    for (std::size_t d = 0; d < out.size(); ++d) {
      if (in.size() != out.size() || (d != axis && in[d] != out[d])) {
        throw InputError(fmt::format("the shapes {} and {} do not fit together", shape_text(out),
                                     shape_text(in)));
      }
    }
    out[axis] += in[axis];
    check_dims(out);
  }
  const bool list = out.size() == 1 && out[0] <= static_cast<std::int64_t>(kMostOnnxValues);
  op.set(std::move(out));
  OnnxNumbers values;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    op.learned.push_back(i);
    if (!list || !op.input(i).values) return;
    values.insert(values.end(), op.input(i).values->begin(), op.input(i).values->end());
  }
  op.outputs[0].values = std::move(values);
}

void split(OnnxOp& op) {
  const EdgeDims& in = op.shape();
  const std::size_t axis = axis_of(op.integer("axis", 0), in.size());
  const std::size_t count = op.outputs.size();
  std::vector<std::int64_t> sizes;
  if (const auto given = op.list("split", 1)) sizes = *given;
  if (sizes.empty() && count > 0) {
    // The parts are as even as possible, and the last one takes what is left.
    const std::int64_t parts = static_cast<std::int64_t>(count);
    const std::int64_t part = in[axis] / parts + (in[axis] % parts != 0 ? 1 : 0);
    for (std::size_t i = 0; i + 1 < count; ++i) sizes.push_back(part);
    sizes.push_back(in[axis] - part * (parts - 1));
  }
  std::int64_t sum = 0;
  for (const std::int64_t s : sizes) sum += checked_product({s});
  if (sizes.size() != count || sum != in[axis]) {
    throw InputError(fmt::format("{} parts for {} outputs of an axis of {} positions", sizes.size(),
                                 count, in[axis]));
  }
  std::size_t begin = 0;
  for (std::size_t i = 0; i < count; ++i) {
    EdgeDims out = in;
    out[axis] = sizes[i];
    OnnxValue& value = op.set(std::move(out), i);
    const std::size_t end = begin + static_cast<std::size_t>(sizes[i]);
    if (in.size() == 1 && op.input().values && end <= op.input().values->size()) {
      const OnnxNumbers& all = *op.input().values;
      value.values = OnnxNumbers(all.begin() + static_cast<std::ptrdiff_t>(begin),
                                 all.begin() + static_cast<std::ptrdiff_t>(end));
    }
    begin = end;
  }
}

// The positions from `begin` to `end` by `step` of an axis, as numpy counts them.
struct Range {
  std::int64_t begin = 0, step = 1, count = 0;
};
Range range_of(std::int64_t size, std::int64_t begin, std::int64_t end, std::int64_t step) {
  if (step == 0) throw InputError("a slice by steps of 0");
  const std::int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
  begin = std::clamp(begin < 0 ? begin + size : begin, step > 0 ? low : 0, high);
  end = std::clamp(end < 0 ? end + size : end, low, size);
  if (size == 0) return {0, step, 0};
  const std::int64_t room = step > 0 ? end - begin : begin - end;
  // The step may be as long as the file says: the room is small.
  const std::int64_t pace = step > 0 ? step : step == INT64_MIN ? INT64_MAX : -step;
  return {begin, step, room <= 0 ? 0 : (room - 1) / pace + 1};
}

void slice(OnnxOp& op) {
  EdgeDims out = op.shape();
  const auto starts = op.list("starts", 1), ends = op.list("ends", 2);
  auto axes = op.list("axes", 3);
  const auto steps = op.has(4) ? op.list("steps", 4) : std::nullopt;
  if (!starts || !ends) throw InputError("a slice without begin or end");
  if (!axes) {
    axes.emplace(starts->size());
    std::iota(axes->begin(), axes->end(), 0);
  }
  if (ends->size() != starts->size() || axes->size() != starts->size() ||
      (steps && steps->size() != starts->size())) {
    throw InputError("a slice whose begins, ends, axes and steps are not as many");
  }
  Range last;
  for (std::size_t i = 0; i < starts->size(); ++i) {
    std::int64_t& size = out[axis_of((*axes)[i], out.size())];
    last = range_of(size, (*starts)[i], (*ends)[i], steps ? (*steps)[i] : 1);
    size = last.count;
  }
  const bool list = out.size() == 1 && starts->size() == 1;
  op.set(std::move(out));
  const auto& values = op.input().values;
  if (!list || !values) return;
  OnnxNumbers taken;
  for (std::int64_t i = 0; i < last.count; ++i) {
    taken.push_back(values->at(static_cast<std::size_t>(last.begin + i * last.step)));
  }
  op.outputs[0].values = std::move(taken);
}

void gather(OnnxOp& op) {
  const EdgeDims& in = op.shape();
  const EdgeDims& at = op.shape(1);
  const std::size_t axis = axis_of(op.integer("axis", 0), in.size());
  EdgeDims out(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(axis));
  out.insert(out.end(), at.begin(), at.end());
  out.insert(out.end(), in.begin() + static_cast<std::ptrdiff_t>(axis) + 1, in.end());
  op.set(std::move(out));
  op.learned = {0};
  const auto &values = op.input().values, &indices = op.input(1).values;
  if (in.size() != 1 || !values || !indices) return;
  OnnxNumbers taken;
  for (const double v : *indices) {
    const std::size_t i = axis_of(onnx_integer(v), values->size());
    taken.push_back((*values)[i]);
  }
  op.outputs[0].values = std::move(taken);
}

void gather_elements(OnnxOp& op) { op.set(op.shape(1)); }

void gather_nd(OnnxOp& op) {
  const EdgeDims& in = op.shape();
  const EdgeDims& at = op.shape(1);
  const auto batch =
      static_cast<std::size_t>(std::max<std::int64_t>(op.integer("batch_dims", 0), 0));
  if (at.empty() || at.back() < 0 || batch + static_cast<std::size_t>(at.back()) > in.size()) {
    throw InputError(fmt::format("indices {} into {}", shape_text(at), shape_text(in)));
  }
  EdgeDims out(at.begin(), at.end() - 1);
  out.insert(out.end(), in.begin() + static_cast<std::ptrdiff_t>(batch) + at.back(), in.end());
  op.set(std::move(out));
}

void expand(OnnxOp& op) {
  OnnxValue& value = op.set(broadcast(op.shape(), op.integers_of(1)));
  const std::int64_t elements = checked_product(value.shape);
  if (op.input().values && op.input().values->size() == 1 &&
      elements <= static_cast<std::int64_t>(kMostOnnxValues)) {
    value.values = OnnxNumbers(static_cast<std::size_t>(elements), op.input().values->front());
  }
}

void tile(OnnxOp& op) {
  EdgeDims out = op.shape();
  const auto repeats = op.integers_of(1);
  if (repeats.size() != out.size()) throw InputError("as many repeats as dimensions are needed");
  for (std::size_t d = 0; d < out.size(); ++d) out[d] = checked_product({out[d], repeats[d]});
  op.set(std::move(out));
}

void pad(OnnxOp& op) {
  EdgeDims out = op.shape();
  const auto pads = op.list("pads", 1);
  std::vector<std::int64_t> axes;
  if (op.has(3)) {
    axes = op.integers_of(3);
  } else {
    axes.resize(out.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  if (!pads || pads->size() != 2 * axes.size()) throw InputError("two pads an axis are needed");
  for (std::size_t i = 0; i < axes.size(); ++i) {
    std::int64_t& size = out[axis_of(axes[i], out.size())];
    for (const std::int64_t more : {(*pads)[i], (*pads)[axes.size() + i]}) {
      if (more > kMostElements || more < -size) throw InputError(fmt::format("a pad of {}", more));
      size += more;
    }
  }
  if (out == op.shape()) op.node.op = EdgeOp::kView;
  op.set(std::move(out));
}

// Sizes are input 3 (opset 11), scales input 1 or 2, or an attribute (Upsample of opset 7).
void resize(OnnxOp& op) {
  EdgeDims out = op.shape();
  if (op.has(3) && !(op.input(3).values && op.input(3).values->empty())) {
    const auto sizes = op.integers_of(3);
    if (sizes.size() != out.size()) throw InputError("as many sizes as dimensions are needed");
    out = sizes;
  } else {
    const OnnxAttribute* attribute = op.source.find("scales");
    const std::size_t at = op.opset >= 11 && op.source.type == "Resize" ? 2 : 1;
    const OnnxNumbers& scales = attribute != nullptr ? attribute->numbers : op.values(at);
    if (scales.size() != out.size()) throw InputError("as many scales as dimensions are needed");
    for (std::size_t d = 0; d < out.size(); ++d) {
      const double size = static_cast<double>(out[d]) * scales[d];
      if (!(size >= 0 && size < 1e12)) throw InputError("a scale out of range");
      out[d] = static_cast<std::int64_t>(size);
    }
  }
  op.set(std::move(out));
}

template <bool kToSpace>
void shuffle_pixels(OnnxOp& op) {
  const EdgeDims& in = op.shape();
  const std::int64_t block = op.integer("blocksize", 0);
  if (in.size() != 4 || block < 1 || block > (1 << 15)) {
    throw InputError(fmt::format("blocks of {} in {}", block, shape_text(in)));
  }
  op.set(kToSpace ? EdgeDims{in[0], in[1] / (block * block), checked_product({in[2], block}),
                             checked_product({in[3], block})}
                  : EdgeDims{in[0], checked_product({in[1], block * block}), in[2] / block,
                             in[3] / block});
}

}  // namespace

const std::vector<OnnxKind>& onnx_move_kinds() {
  constexpr EdgeActivation kNone = EdgeActivation::kNone;
  static const std::vector<OnnxKind> kKinds = {
      {"Identity", EdgeOp::kView, kNone, identity},
      {"Dropout", EdgeOp::kView, kNone, identity},
      {"Reshape", EdgeOp::kView, kNone, reshape},
      {"Flatten", EdgeOp::kView, kNone, flatten},
      {"Squeeze", EdgeOp::kView, kNone, squeeze},
      {"Unsqueeze", EdgeOp::kView, kNone, unsqueeze},
      {"Transpose", EdgeOp::kPermute, kNone, transpose},
      {"Concat", EdgeOp::kConcat, kNone, concat},
      {"Split", EdgeOp::kSlice, kNone, split},
      {"Slice", EdgeOp::kSlice, kNone, slice},
      {"Gather", EdgeOp::kGather, kNone, gather},
      {"GatherElements", EdgeOp::kGather, kNone, gather_elements},
      {"GatherND", EdgeOp::kGather, kNone, gather_nd},
      {"ScatterND", EdgeOp::kGather, kNone, onnx_same},
      {"ScatterElements", EdgeOp::kGather, kNone, onnx_same},
      {"Expand", EdgeOp::kSlice, kNone, expand},
      {"Tile", EdgeOp::kSlice, kNone, tile},
      {"Trilu", EdgeOp::kSlice, kNone, onnx_same},
      {"Pad", EdgeOp::kPad, kNone, pad},
      {"Resize", EdgeOp::kResize, kNone, resize},
      {"Upsample", EdgeOp::kResize, kNone, resize},
      {"DepthToSpace", EdgeOp::kShuffle, kNone, shuffle_pixels<true>},
      {"SpaceToDepth", EdgeOp::kShuffle, kNone, shuffle_pixels<false>},
  };
  return kKinds;
}

}  // namespace orrery
