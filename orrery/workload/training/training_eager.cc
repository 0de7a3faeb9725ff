#include "orrery/workload/training/training_passes.h"

// The kernels that eager PyTorch runs for work that fused stacks do in one kernel. They are the
// operations in the models' own code (torchtitan, Hugging Face: LlamaRMSNorm, apply_rotary_emb,
// silu(a) * b), each a kernel that reads and writes whole tensors. nn.LayerNorm and GELU are single
// kernels in eager PyTorch too.
//
// Bytes an element of the row, with e of an element of the activations:
//
//   RMS norm   forward, 7 kernels: to fp32 (e, 4), square (4, 4), mean (4, 0), its root (small),
//              times the root (4, 4), to 16 bits (4, e), times the weight (e, e): reads 2e + 16,
//              writes 2e + 12
//              backward, 12 kernels: weight (e, e), its gradient (2e, e) and sum (e, 0), to fp32
//              (e, 4), root (4, 4) and its gradient (8, 4) and sum (4, 0), square (4, 4) (4, 4),
//              sum of both (8, 4), to 16 bits (4, e): reads 5e + 36, writes 3e + 24
//   rotation   to fp32 (e, 4), complex product (4, 4), to 16 bits (4, e), both ways: e + 8 each;
//              rotate_half of Hugging Face (two products, a negation, a concatenation, a sum) moves
//              as much
//   gated activation  forward silu (e, e) and product (2e, e); backward two products (2e, e) and
//              the gradient of silu (2e, e)
//   residual   the sum is a kernel of its own: the norm reads it again
//   scores     attention without a library under autocast (nanoGPT before PyTorch 2.0, eager
//              attention of Hugging Face): forward scale (e, e), mask (e + 1, e), to fp32 (e, 4),
//              softmax (4, 4), to 16 bits (4, e), in place of one kernel (e, e); backward to fp32
//              (e, 4), softmax (8, 4), to 16 bits (4, e), mask (e + 1, e), scale (e, e), in place
//              of one kernel (2e, e)

namespace orrery {
namespace {

constexpr double kFloat = 4;

}  // namespace

void TrainingPasses::eager_kernels(const Elementwise& fused, const ProgramOp& op,
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
    forward_and_again(kernel(forward), op.count * forward.kernels, from, Cost::kElementwise);
  if (backward.kernels > 0)
    put(kernel(backward), op.count * backward.kernels, from, Pass::kBackwardInput,
        Cost::kElementwise);
}

void TrainingPasses::eager_scores(const Elementwise& softmax, const ProgramOp& op) {
  const double e = element_.value();
  const double mask = 1;
  eager_kernels(softmax, op, {4, 2 * e + mask + 2 * kFloat, 2 * e + 2 * kFloat},
                {4, e + mask + 3 * kFloat, 2 * e + 2 * kFloat});
}

void TrainingPasses::eager(const Elementwise& fused, const ProgramOp& op) {
  using Kind = Elementwise::Kind;
  const double e = element_.value();
  switch (fused.kind) {
    case Kind::kNorm:
    case Kind::kAddNorm: {
      const double sum = fused.kind == Kind::kAddNorm ? e : 0;  // of the residual, read again
      if (model_.norm != Norm::kRms)
        return eager_kernels(fused, op, {sum > 0 ? 1.0 : 0.0, sum, 0}, {});
      const double weights = frozen_ ? 0 : e;  // the gradient of the norm's weight
      const std::size_t before = ops_.size();
      eager_kernels(fused, op, {6, e + 4 * kFloat, e + 3 * kFloat},
                    {11, 3 * weights + 9 * kFloat, e + weights + 6 * kFloat});
      for (std::size_t i = before; i < ops_.size(); ++i) ops_[i].of_norm = true;
      if (sum > 0) eager_kernels(fused, op, {1, sum, 0}, {});
      return;
    }
    case Kind::kRotary:
      return eager_kernels(fused, op, {2, 2 * kFloat, 2 * kFloat}, {2, 2 * kFloat, 2 * kFloat});
    case Kind::kActivation: {
      const bool gated = fused.read > 1.5 * fused.written;
      if (!gated) return;
      return eager_kernels(fused, op, {1, e, e}, {2, 3 * e, e});
    }
    default:
      return;
  }
}

}  // namespace orrery
