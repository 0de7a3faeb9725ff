// Operators of ONNX that work element by element, and norms. Sums and products of small constants
// are worked out, since shapes are computed by them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "orrery/base/error.h"
#include "orrery/edge/graph/onnx_op.h"

namespace orrery {
namespace {

// f(x) of known values.
template <double (*kFunction)(double)>
void unary(OnnxOp& op) {
  op.same();
  if (!op.input().values) return;
  OnnxNumbers values = *op.input().values;
  for (double& v : values) v = kFunction(v);
  op.outputs[0].values = std::move(values);
}

double negated(double v) { return -v; }
double floored(double v) { return std::floor(v); }
double raised(double v) { return std::ceil(v); }
double inverted(double v) { return v == 0 ? 1 : 0; }
double root(double v) { return std::sqrt(v); }
double absolute(double v) { return std::abs(v); }

double plus(double a, double b) { return a + b; }
double minus(double a, double b) { return a - b; }
double times(double a, double b) { return a * b; }
double power(double a, double b) { return std::pow(a, b); }
double smaller(double a, double b) { return std::min(a, b); }
double greater(double a, double b) { return std::max(a, b); }
double equals(double a, double b) { return a == b ? 1 : 0; }
double is_less(double a, double b) { return a < b ? 1 : 0; }
double is_greater(double a, double b) { return a > b ? 1 : 0; }
double at_most(double a, double b) { return a <= b ? 1 : 0; }
double at_least(double a, double b) { return a >= b ? 1 : 0; }
double both(double a, double b) { return a != 0 && b != 0 ? 1 : 0; }
double either(double a, double b) { return a != 0 || b != 0 ? 1 : 0; }
double over(double a, double b) { return a / b; }

bool is_integer(int type) {
  return type != kOnnxFloat && type != kOnnxDouble && type != kOnnxFloat16 && type != kOnnxBfloat16;
}

// Shapes of all inputs together; the node has learned its constant inputs.
EdgeDims joined(OnnxOp& op) {
  EdgeDims out = op.shape(0);
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    if (i > 0) out = broadcast(out, op.shape(i));
    op.learned.push_back(i);
  }
  return out;
}

// Values of two operands where each is one number or has the shape of the result.
template <double (*kFunction)(double, double)>
std::optional<OnnxNumbers> combined(const OnnxOp& op, std::int64_t elements) {
  if (op.inputs.size() != 2 || !op.input(0).values || !op.input(1).values) return std::nullopt;
  const OnnxNumbers &a = *op.input(0).values, &b = *op.input(1).values;
  const auto count = static_cast<std::size_t>(elements);
  if ((a.size() != 1 && a.size() != count) || (b.size() != 1 && b.size() != count)) {
    return std::nullopt;
  }
  OnnxNumbers values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = kFunction(a[a.size() == 1 ? 0 : i], b[b.size() == 1 ? 0 : i]);
    if (is_integer(op.input(0).type) && std::isfinite(values[i])) values[i] = std::trunc(values[i]);
  }
  return values;
}

template <double (*kFunction)(double, double)>
void binary(OnnxOp& op) {
  EdgeDims out = joined(op);
  OnnxValue& value = op.set(std::move(out));
  value.values = combined<kFunction>(op, checked_product(value.shape));
}

template <double (*kFunction)(double, double)>
void compare(OnnxOp& op) {
  binary<kFunction>(op);
  op.outputs[0].type = kOnnxBool;
  op.learned.clear();
}

template <double (*kFunction)(double, double)>
void add(OnnxOp& op) {
  binary<kFunction>(op);
  op.node.adds = true;
}

void variadic(OnnxOp& op) { op.set(joined(op)); }

void where(OnnxOp& op) {
  OnnxValue& value = op.set(broadcast(broadcast(op.shape(0), op.shape(1)), op.shape(2)));
  value.type = op.input(1).type;
  const auto& c = op.input(0).values;
  const auto &a = op.input(1).values, &b = op.input(2).values;
  const auto count = static_cast<std::size_t>(checked_product(value.shape));
  if (!c || !a || !b || c->size() != count) return;
  OnnxNumbers values(count);
  for (std::size_t i = 0; i < count; ++i) {
    const OnnxNumbers& from = (*c)[i] != 0 ? *a : *b;
    if (from.size() != 1 && from.size() != count) return;
    values[i] = from[from.size() == 1 ? 0 : i];
  }
  value.values = std::move(values);
}

void prelu(OnnxOp& op) {
  op.same();
  op.learned = {1};
}

void batch_norm(OnnxOp& op) {
  op.same();
  op.outputs.resize(op.source.outputs.size());  // those of training are of no use
  for (std::size_t i = 1; i < op.outputs.size(); ++i) op.set(op.shape(1), i);
  op.learned = {1, 2};  // mean and variance are statistics
}

void layer_norm(OnnxOp& op) {
  op.same();
  EdgeDims statistics = op.shape();
  const std::size_t axis = axis_of(op.integer("axis", -1), statistics.size());
  std::fill(statistics.begin() + static_cast<std::ptrdiff_t>(axis), statistics.end(), 1);
  for (std::size_t i = 1; i < op.outputs.size(); ++i) op.set(statistics, i);
  op.learned = {1, 2};
}

void scaled_norm(OnnxOp& op) {
  op.same();
  op.learned = {1, 2};
}

void cast(OnnxOp& op) {
  op.same();
  op.outputs[0].type = static_cast<int>(op.integer("to", 0) & 0xFF);
  op.outputs[0].values = op.input().values;
  if (op.outputs[0].values && is_integer(op.outputs[0].type)) {
    for (double& v : *op.outputs[0].values) v = std::trunc(v);
  }
}

void quantize(OnnxOp& op) {
  op.same();
  op.outputs[0].type = op.has(2) ? op.input(2).type : kOnnxUint8;
}

void dequantize(OnnxOp& op) {
  op.same();
  op.outputs[0].type = kOnnxFloat;
}

void dynamic_quantize(OnnxOp& op) {
  op.same();
  op.outputs[0].type = kOnnxUint8;
  for (std::size_t i = 1; i < op.outputs.size(); ++i) op.set({}, i);
}

}  // namespace

const std::vector<OnnxKind>& onnx_pointwise_kinds() {
  using A = EdgeActivation;
  constexpr EdgeOp kAct = EdgeOp::kActivation, kSum = EdgeOp::kElementwise;
  static const std::vector<OnnxKind> kKinds = {
      {"Relu", kAct, A::kRelu, onnx_same},
      {"Clip", kAct, A::kRelu6, onnx_same},
      {"ThresholdedRelu", kAct, A::kOther, onnx_same},
      {"LeakyRelu", kAct, A::kLeakyRelu, onnx_same},
      {"PRelu", kAct, A::kPRelu, prelu},
      {"Sigmoid", kAct, A::kSigmoid, onnx_same},
      {"HardSigmoid", kAct, A::kHardSigmoid, onnx_same},
      {"Swish", kAct, A::kSwish, onnx_same},
      {"HardSwish", kAct, A::kHardSwish, onnx_same},
      {"Gelu", kAct, A::kGelu, onnx_same},
      {"Tanh", kAct, A::kTanh, onnx_same},
      {"Elu", kAct, A::kElu, onnx_same},
      {"Selu", kAct, A::kElu, onnx_same},
      {"Celu", kAct, A::kElu, onnx_same},
      {"Mish", kAct, A::kMish, onnx_same},
      {"Softplus", kAct, A::kOther, onnx_same},
      {"Softsign", kAct, A::kOther, onnx_same},
      {"Erf", kAct, A::kOther, onnx_same},
      {"Exp", kAct, A::kOther, onnx_same},
      {"Log", kAct, A::kOther, onnx_same},
      {"Sin", kAct, A::kOther, onnx_same},
      {"Cos", kAct, A::kOther, onnx_same},
      {"Reciprocal", kAct, A::kOther, onnx_same},
      {"Round", kAct, A::kOther, onnx_same},
      {"Sign", kAct, A::kOther, onnx_same},
      {"IsNaN", kAct, A::kOther, onnx_same},
      {"Sqrt", kAct, A::kOther, unary<root>},
      {"Abs", kAct, A::kOther, unary<absolute>},
      {"Neg", kAct, A::kOther, unary<negated>},
      {"Floor", kAct, A::kOther, unary<floored>},
      {"Ceil", kAct, A::kOther, unary<raised>},
      {"Not", kAct, A::kOther, unary<inverted>},
      {"Add", kSum, A::kNone, add<plus>},
      {"Sub", kSum, A::kNone, add<minus>},
      {"Mul", kSum, A::kNone, binary<times>},
      {"Div", kSum, A::kNone, binary<over>},
      {"Pow", kSum, A::kNone, binary<power>},
      {"Mod", kSum, A::kNone, variadic},
      {"Min", kSum, A::kNone, binary<smaller>},
      {"Max", kSum, A::kNone, binary<greater>},
      {"Sum", kSum, A::kNone, variadic},
      {"Mean", kSum, A::kNone, variadic},
      {"Equal", kSum, A::kNone, compare<equals>},
      {"Less", kSum, A::kNone, compare<is_less>},
      {"LessOrEqual", kSum, A::kNone, compare<at_most>},
      {"Greater", kSum, A::kNone, compare<is_greater>},
      {"GreaterOrEqual", kSum, A::kNone, compare<at_least>},
      {"And", kSum, A::kNone, compare<both>},
      {"Or", kSum, A::kNone, compare<either>},
      {"Where", kSum, A::kNone, where},
      {"BatchNormalization", EdgeOp::kBatchNorm, A::kNone, batch_norm},
      {"LayerNormalization", EdgeOp::kLayerNorm, A::kNone, layer_norm},
      {"RMSNormalization", EdgeOp::kLayerNorm, A::kNone, scaled_norm},
      {"SimplifiedLayerNormalization", EdgeOp::kLayerNorm, A::kNone, scaled_norm},
      {"InstanceNormalization", EdgeOp::kLayerNorm, A::kNone, scaled_norm},
      {"GroupNormalization", EdgeOp::kLayerNorm, A::kNone, scaled_norm},
      {"MeanVarianceNormalization", EdgeOp::kLayerNorm, A::kNone, onnx_same},
      {"LpNormalization", EdgeOp::kLayerNorm, A::kNone, onnx_same},
      {"LRN", EdgeOp::kLrn, A::kNone, onnx_same},
      {"Softmax", EdgeOp::kSoftmax, A::kNone, onnx_same},
      {"LogSoftmax", EdgeOp::kSoftmax, A::kNone, onnx_same},
      {"Hardmax", EdgeOp::kSoftmax, A::kNone, onnx_same},
      {"Cast", EdgeOp::kCast, A::kNone, cast},
      {"QuantizeLinear", EdgeOp::kCast, A::kNone, quantize},
      {"DequantizeLinear", EdgeOp::kCast, A::kNone, dequantize},
      {"DynamicQuantizeLinear", EdgeOp::kCast, A::kNone, dynamic_quantize},
  };
  return kKinds;
}

}  // namespace orrery
