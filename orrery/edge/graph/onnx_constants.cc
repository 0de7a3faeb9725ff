// Operators of ONNX that make constants: of attributes, and of shapes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "orrery/base/error.h"
#include "orrery/base/index.h"
#include "orrery/edge/graph/onnx_op.h"

namespace orrery {
namespace {

// A list of so many values, of a tensor with one dimension.
void set_list(OnnxOp& op, OnnxNumbers numbers, int type) {
  OnnxValue& value = op.set({static_cast<std::int64_t>(numbers.size())});
  value.type = type;
  if (numbers.size() <= kMostOnnxValues) value.values = std::move(numbers);
}
void set_number(OnnxOp& op, double number, int type) {
  OnnxValue& value = op.set({});
  value.type = type;
  value.values = OnnxNumbers{number};
}

void constant(OnnxOp& op) {
  const OnnxNode& n = op.source;
  if (const OnnxAttribute* a = n.find("value"); a != nullptr && a->tensor) {
    OnnxValue& value = op.set(a->tensor->dims);
    value.type = a->tensor->type;
    value.values = a->tensor->values;
  } else if (const OnnxAttribute* i = n.find("value_int")) {
    set_number(op, static_cast<double>(i->i), kOnnxInt64);
  } else if (const OnnxAttribute* f = n.find("value_float")) {
    set_number(op, f->f, kOnnxFloat);
  } else if (const OnnxAttribute* ints = n.find("value_ints")) {
    set_list(op, ints->numbers, kOnnxInt64);
  } else if (const OnnxAttribute* floats = n.find("value_floats")) {
    set_list(op, floats->numbers, kOnnxFloat);
  } else {
    throw InputError("a constant without a value");
  }
}

void constant_of_shape(OnnxOp& op) {
  const OnnxAttribute* a = op.source.find("value");
  const bool given = a != nullptr && a->tensor;
  OnnxValue& value = op.set(op.integers_of(0));
  value.type = given ? a->tensor->type : kOnnxFloat;
  const std::int64_t elements = checked_product(value.shape);
  if (elements > static_cast<std::int64_t>(kMostOnnxValues)) return;
  const bool known = given && a->tensor->values && a->tensor->values->size() == 1;
  if (given && !known) return;
  value.values =
      OnnxNumbers(static_cast<std::size_t>(elements), known ? a->tensor->values->front() : 0.0);
}

void shape(OnnxOp& op) {
  const EdgeDims& in = op.shape();
  const auto rank = static_cast<std::int64_t>(in.size());
  const auto place = [&](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const std::int64_t begin = place(op.integer("start", 0)), end = place(op.integer("end", rank));
  OnnxNumbers sizes;
  for (std::int64_t d = begin; d < end; ++d) {
    sizes.push_back(static_cast<double>(in[index(d)]));
  }
  set_list(op, std::move(sizes), kOnnxInt64);
  op.outputs[0].constant = true;
}

void size(OnnxOp& op) {
  set_number(op, static_cast<double>(checked_product(op.shape())), kOnnxInt64);
  op.outputs[0].constant = true;
}

void range(OnnxOp& op) {
  const auto number = [&](std::size_t i) {
    const OnnxNumbers& v = op.values(i);
    if (v.size() != 1) throw InputError("a range needs three numbers");
    return v[0];
  };
  const double begin = number(0), step = number(2);
  const double count = std::ceil((number(1) - begin) / step);
  if (!(count < static_cast<double>(kMostElements))) throw InputError("a range without end");
  const auto elements = static_cast<std::int64_t>(std::max(count, 0.0));
  OnnxValue& value = op.set({elements});
  value.type = op.input(0).type;
  if (elements > static_cast<std::int64_t>(kMostOnnxValues)) return;
  value.values.emplace();
  for (std::int64_t i = 0; i < elements; ++i) {
    value.values->push_back(begin + step * static_cast<double>(i));
  }
}

}  // namespace

const std::vector<OnnxKind>& onnx_constant_kinds() {
  constexpr EdgeActivation kNone = EdgeActivation::kNone;
  static const std::vector<OnnxKind> kKinds = {
      {"Constant", EdgeOp::kView, kNone, constant},
      {"ConstantOfShape", EdgeOp::kView, kNone, constant_of_shape},
      {"Shape", EdgeOp::kView, kNone, shape},
      {"Size", EdgeOp::kView, kNone, size},
      {"Range", EdgeOp::kView, kNone, range},
  };
  return kKinds;
}

}  // namespace orrery
