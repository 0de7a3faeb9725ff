#include "orrery/workload/training/training_eager.h"

#include "orrery/base/index.h"

namespace orrery {
namespace {

using Pass = TrainingPass;
using Cost = TrainingCost;

constexpr double kFloat = 4;

// Bytes an element that the eager kernels of a pass move beyond the fused kernel.
struct UnfusedPass {
  double kernels = 0, read = 0, written = 0;
};

void add_eager_kernels(PassWriter& w, const Elementwise& fused, const ProgramOp& op,
                       const UnfusedPass& forward, const UnfusedPass& backward) {
  const double elements = real(fused.rows) * real(fused.width);
  const auto kernel = [&](const UnfusedPass& p) {
    Elementwise e = fused;
    e.kind = Elementwise::Kind::kCopy;
    e.read = elements * Bytes(p.read / p.kernels);
    e.written = elements * Bytes(p.written / p.kernels);
    return e;
  };
  ProgramOp from = op;
  from.fusible = true;
  if (forward.kernels > 0)
    w.forward_and_again(kernel(forward), op.count * forward.kernels, from, Cost::kElementwise);
  if (backward.kernels > 0)
    w.put(kernel(backward), op.count * backward.kernels, from, Pass::kBackwardInput,
          Cost::kElementwise);
}

bool written_gelu(const PassWriter& w, const ProgramOp& op) {
  if (op.spec < 0) return false;
  const Mlp& mlp = w.model().layers.specs()[index(op.spec)].mlp;
  const auto* dense = std::get_if<DenseMlp>(&mlp);
  return dense && dense->activation == Activation::kWrittenGelu && !dense->gated;
}

void add_eager_gelu(PassWriter& w, const Elementwise& activation, const ProgramOp& op) {
  const double e = w.element().value();
  const bool autocast = w.plan().zero < 3;
  if (!autocast)
    return add_eager_kernels(w, activation, op, {7, 9 * e, 7 * e}, {10, 15 * e, 10 * e});
  add_eager_kernels(w, activation, op, {9, 3 * e + 8 * kFloat, e + 8 * kFloat},
                    {14, 5 * e + 14 * kFloat, 5 * e + 9 * kFloat});
}

}  // namespace

void add_eager_scores(PassWriter& w, const Elementwise& softmax, const ProgramOp& op) {
  const double e = w.element().value();
  const double mask = 1;
  add_eager_kernels(w, softmax, op, {4, 2 * e + mask + 2 * kFloat, 2 * e + 2 * kFloat},
                    {4, e + mask + 3 * kFloat, 2 * e + 2 * kFloat});
}

void add_eager(PassWriter& w, const Elementwise& fused, const ProgramOp& op) {
  using Kind = Elementwise::Kind;
  const double e = w.element().value();
  switch (fused.kind) {
    case Kind::kNorm:
    case Kind::kAddNorm: {
      const double sum = fused.kind == Kind::kAddNorm ? e : 0;  // of the residual, read again
      if (w.model().norm != Norm::kRms)
        return add_eager_kernels(w, fused, op, {sum > 0 ? 1.0 : 0.0, sum, 0}, {});
      const double weights = w.frozen() ? 0 : e;  // the gradient of the norm's weight
      const std::size_t before = w.size();
      add_eager_kernels(w, fused, op, {6, e + 4 * kFloat, e + 3 * kFloat},
                        {11, 3 * weights + 9 * kFloat, e + weights + 6 * kFloat});
      for (TrainingOp& o : w.since(before)) o.of_norm = true;
      if (sum > 0) add_eager_kernels(w, fused, op, {1, sum, 0}, {});
      return;
    }
    case Kind::kRotary:
      return add_eager_kernels(w, fused, op, {2, 2 * kFloat, 2 * kFloat},
                               {2, 2 * kFloat, 2 * kFloat});
    case Kind::kActivation: {
      const bool gated = fused.read > 1.5 * fused.written;
      if (written_gelu(w, op)) return add_eager_gelu(w, fused, op);
      if (!gated) return;
      return add_eager_kernels(w, fused, op, {1, e, e}, {2, 3 * e, e});
    }
    default:
      return;
  }
}

}  // namespace orrery
