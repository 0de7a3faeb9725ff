// Products of matrices and recurrent layers of ONNX.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "orrery/base/error.h"
#include "orrery/edge/graph/onnx_op.h"

namespace orrery {
namespace {

// A product is one with weights where an operand is constant.
void set_product(OnnxOp& op, std::size_t a, std::size_t b, std::int64_t macs) {
  op.node.macs = macs;
  op.node.op = EdgeOp::kMatMul;
  for (const std::size_t i : {a, b}) {
    if (!op.input(i).constant) continue;
    op.node.op = EdgeOp::kInnerProduct;
    op.node.weights = checked_product(op.shape(i));
    op.learned.push_back(i);
  }
}

void gemm(OnnxOp& op) {
  EdgeDims a = op.shape(0), b = op.shape(1);
  if (a.size() != 2 || b.size() != 2) {
    throw InputError(fmt::format("a product of {} and {}", shape_text(a), shape_text(b)));
  }
  if (op.integer("transA", 0) != 0) std::swap(a[0], a[1]);
  if (op.integer("transB", 0) != 0) std::swap(b[0], b[1]);
  if (a[1] != b[0]) {
    throw InputError(fmt::format("a product of {} and {}", shape_text(a), shape_text(b)));
  }
  op.set({a[0], b[1]});
  set_product(op, 0, 1, checked_product({a[0], a[1], b[1]}));
  op.learned.push_back(2);
}

// The operands are inputs `first` and `second`.
void product(OnnxOp& op, std::size_t first, std::size_t second) {
  EdgeDims a = op.shape(first), b = op.shape(second);
  if (a.empty() || b.empty()) throw InputError("a product of a scalar");
  const bool row = a.size() == 1, column = b.size() == 1;
  if (row) a.insert(a.begin(), 1);
  if (column) b.push_back(1);
  const std::int64_t m = a[a.size() - 2], k = a.back(), n = b.back();
  if (b[b.size() - 2] != k) {
    throw InputError(fmt::format("a product of {} and {}", shape_text(a), shape_text(b)));
  }
  a.resize(a.size() - 2);
  b.resize(b.size() - 2);
  EdgeDims out = broadcast(a, b);
  const std::int64_t macs = checked_product({checked_product(out), m, n, k});
  if (!row) out.push_back(m);
  if (!column) out.push_back(n);
  op.set(std::move(out));
  set_product(op, first, second, macs);
}

void matmul(OnnxOp& op) { product(op, 0, 1); }
void qlinear_matmul(OnnxOp& op) { product(op, 0, 3); }

// X [steps, batch, width], W [directions, gates * hidden, width], R [directions, gates * hidden,
// hidden]
void recurrent(OnnxOp& op) {
  const EdgeDims& x = op.shape(0);
  const EdgeDims& w = op.shape(1);
  const EdgeDims& r = op.shape(2);
  if (x.size() != 3 || w.size() != 3 || r.size() != 3 || w[2] != x[2]) {
    throw InputError(fmt::format("weights {} and {} for an input {}", shape_text(w), shape_text(r),
                                 shape_text(x)));
  }
  const bool batch_first = op.integer("layout", 0) == 1;
  const std::int64_t steps = x[batch_first ? 1 : 0], batch = x[batch_first ? 0 : 1];
  op.set(batch_first ? EdgeDims{batch, steps, w[0], r[2]} : EdgeDims{steps, w[0], batch, r[2]});
  for (std::size_t i = 1; i < op.outputs.size(); ++i) {
    op.set(batch_first ? EdgeDims{batch, w[0], r[2]} : EdgeDims{w[0], batch, r[2]}, i);
  }
  op.node.weights = checked_product(w) + checked_product(r);
  op.node.macs = checked_product({op.node.weights, steps, batch});
  op.learned = {1, 2, 3};
}

}  // namespace

const std::vector<OnnxKind>& onnx_product_kinds() {
  constexpr EdgeActivation kNone = EdgeActivation::kNone;
  static const std::vector<OnnxKind> kKinds = {
      {"Gemm", EdgeOp::kInnerProduct, kNone, gemm},
      {"MatMul", EdgeOp::kMatMul, kNone, matmul},
      {"MatMulInteger", EdgeOp::kMatMul, kNone, matmul},
      {"QLinearMatMul", EdgeOp::kMatMul, kNone, qlinear_matmul},
      {"LSTM", EdgeOp::kRecurrent, kNone, recurrent},
      {"GRU", EdgeOp::kRecurrent, kNone, recurrent},
      {"RNN", EdgeOp::kRecurrent, kNone, recurrent},
  };
  return kKinds;
}

}  // namespace orrery
