// Reductions of ONNX, and operators whose result data decides.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "orrery/base/error.h"
#include "orrery/base/index.h"
#include "orrery/edge/graph/onnx_op.h"

namespace orrery {
namespace {

void reduce(OnnxOp& op) {
  const EdgeDims& in = op.shape();
  auto axes = op.list("axes", 1);
  const bool keep = op.integer("keepdims", 1) != 0;
  if (!axes || axes->empty()) {
    if (op.integer("noop_with_empty_axes", 0) != 0) return op.same();
    axes.emplace(in.size());
    std::iota(axes->begin(), axes->end(), 0);
  }
  std::vector<bool> goes(in.size(), false);
  for (const std::int64_t a : *axes) goes[axis_of(a, in.size())] = true;
  EdgeDims out;
  for (std::size_t d = 0; d < in.size(); ++d) {
    if (!goes[d] || keep) out.push_back(goes[d] ? 1 : in[d]);
  }
  op.set(std::move(out));
}

void reduce_product(OnnxOp& op) {
  reduce(op);
  if (op.input().values && op.outputs[0].elements() == 1) {
    const OnnxNumbers& v = *op.input().values;
    op.outputs[0].values = {std::accumulate(v.begin(), v.end(), 1.0, std::multiplies<>())};
  }
}

void arg(OnnxOp& op) {
  EdgeDims out = op.shape();
  const auto axis = static_cast<std::ptrdiff_t>(axis_of(op.integer("axis", 0), out.size()));
  if (op.integer("keepdims", 1) != 0) {
    out[index(axis)] = 1;
  } else {
    out.erase(out.begin() + axis);
  }
  op.set(std::move(out)).type = kOnnxInt64;
}

void top_k(OnnxOp& op) {
  EdgeDims out = op.shape();
  const std::size_t axis = axis_of(op.integer("axis", -1), out.size());
  std::int64_t k = op.integer("k", 0);
  if (op.has(1)) {
    const auto given = op.integers_of(1);
    if (given.size() != 1) throw InputError("the first values of which number?");
    k = given[0];
  }
  if (k < 0 || k > out[axis]) {
    throw InputError(fmt::format("the first {} of {} values", k, out[axis]));
  }
  out[axis] = k;
  op.set(out);
  for (std::size_t i = 1; i < op.outputs.size(); ++i) op.set(out, i).type = kOnnxInt64;
}

void data_decides(OnnxOp& op) {
  for (OnnxValue& v : op.outputs) v.dynamic = true;
}

}  // namespace

const std::vector<OnnxKind>& onnx_reduce_kinds() {
  constexpr EdgeActivation kNone = EdgeActivation::kNone;
  static const std::vector<OnnxKind> kKinds = {
      {"ReduceMean", EdgeOp::kReduce, kNone, reduce},
      {"ReduceSum", EdgeOp::kReduce, kNone, reduce},
      {"ReduceMax", EdgeOp::kReduce, kNone, reduce},
      {"ReduceMin", EdgeOp::kReduce, kNone, reduce},
      {"ReduceL1", EdgeOp::kReduce, kNone, reduce},
      {"ReduceL2", EdgeOp::kReduce, kNone, reduce},
      {"ReduceSumSquare", EdgeOp::kReduce, kNone, reduce},
      {"ReduceLogSum", EdgeOp::kReduce, kNone, reduce},
      {"ReduceLogSumExp", EdgeOp::kReduce, kNone, reduce},
      {"ReduceProd", EdgeOp::kReduce, kNone, reduce_product},
      {"ArgMax", EdgeOp::kReduce, kNone, arg},
      {"ArgMin", EdgeOp::kReduce, kNone, arg},
      {"TopK", EdgeOp::kReduce, kNone, top_k},
      {"CumSum", EdgeOp::kReduce, kNone, onnx_same},
      {"NonMaxSuppression", EdgeOp::kDetection, kNone, data_decides},
      {"NonZero", EdgeOp::kDetection, kNone, data_decides},
      {"Unique", EdgeOp::kDetection, kNone, data_decides},
      {"Compress", EdgeOp::kDetection, kNone, data_decides},
  };
  return kKinds;
}

}  // namespace orrery
