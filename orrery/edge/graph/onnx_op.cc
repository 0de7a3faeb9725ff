#include "orrery/edge/graph/onnx_op.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "orrery/base/error.h"

namespace orrery {

std::int64_t onnx_integer(double value) {
  constexpr double kMost = static_cast<double>(std::int64_t{1} << 62);
  if (std::isnan(value)) throw InputError("a size that is no number");
  return static_cast<std::int64_t>(std::clamp(value, -kMost, kMost));
}

namespace {

std::vector<std::int64_t> as_integers(const OnnxNumbers& numbers) {
  std::vector<std::int64_t> result;
  result.reserve(numbers.size());
  for (const double v : numbers) result.push_back(onnx_integer(v));
  return result;
}

}  // namespace

const OnnxValue& OnnxOp::input(std::size_t i) const {
  if (!has(i)) throw InputError(fmt::format("input {} is not given", i + 1));
  return *inputs[i];
}

const OnnxNumbers& OnnxOp::values(std::size_t i) const {
  if (!input(i).values) {
    throw InputError(
        fmt::format("its shape depends on the values of '{}', which only a run of the model gives",
                    shown_name(i < source.inputs.size() ? source.inputs[i] : "")));
  }
  return *input(i).values;
}

std::vector<std::int64_t> OnnxOp::integers_of(std::size_t i) const {
  return as_integers(values(i));
}

std::int64_t OnnxOp::integer(std::string_view attribute, std::int64_t otherwise) const {
  const OnnxAttribute* a = source.find(attribute);
  return a == nullptr ? otherwise : a->i;
}

double OnnxOp::number(std::string_view attribute, double otherwise) const {
  const OnnxAttribute* a = source.find(attribute);
  return a == nullptr ? otherwise : a->f;
}

std::string_view OnnxOp::text(std::string_view attribute) const {
  const OnnxAttribute* a = source.find(attribute);
  return a == nullptr ? "" : a->s;
}

std::vector<std::int64_t> OnnxOp::integers(std::string_view attribute) const {
  const OnnxAttribute* a = source.find(attribute);
  return a == nullptr ? std::vector<std::int64_t>{} : as_integers(a->numbers);
}

std::optional<std::vector<std::int64_t>> OnnxOp::list(std::string_view attribute,
                                                      std::size_t input) const {
  if (source.find(attribute) != nullptr) return integers(attribute);
  if (has(input)) return integers_of(input);
  return std::nullopt;
}

OnnxValue& OnnxOp::set(EdgeDims shape, std::size_t output) {
  check_dims(shape);
  if (output >= outputs.size()) outputs.resize(output + 1);
  outputs[output].shape = std::move(shape);
  if (outputs[output].type == 0 && has(0)) outputs[output].type = inputs[0]->type;
  return outputs[output];
}

void OnnxOp::same() { set(shape()); }

void onnx_same(OnnxOp& op) { op.same(); }

const OnnxKind* onnx_kind(std::string_view type) {
  static const std::unordered_map<std::string_view, const OnnxKind*> kKinds = [] {
    std::unordered_map<std::string_view, const OnnxKind*> kinds;
    for (const auto* list : {&onnx_window_kinds(), &onnx_product_kinds(), &onnx_pointwise_kinds(),
                             &onnx_move_kinds(), &onnx_reduce_kinds(), &onnx_constant_kinds()}) {
      for (const OnnxKind& k : *list) kinds.emplace(k.type, &k);
    }
    return kinds;
  }();
  const auto found = kKinds.find(type);
  return found == kKinds.end() ? nullptr : found->second;
}

}  // namespace orrery
