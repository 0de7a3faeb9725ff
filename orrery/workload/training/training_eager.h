// The kernels that eager PyTorch runs for work that fused stacks do in one kernel. They are the
// operations in the models' own code (torchtitan, Hugging Face: LlamaRMSNorm, apply_rotary_emb,
// silu(a) * b), each a kernel that reads and writes whole tensors. nn.LayerNorm and nn.GELU are
// single kernels in eager PyTorch too.
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
//   written GELU  0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 pow(x, 3)))), in place of one kernel
//              (e, e) and one (2e, e) backward. Under autocast pow computes in fp32, and so does
//              what follows it (pytorch.org/docs/stable/amp.html): forward 10 kernels: to fp32
//              (e, 4), pow (4, 4), scale (4, 4), sum (e + 4, 4), scale, tanh and 1 + (4, 4 each),
//              half of x (e, e), product (e + 4, 4), to 16 bits for the next product (4, e): reads
//              4e + 32, writes 2e + 32
//              backward 15: to fp32 (e, 4), product (8, 4) and to 16 bits (4, e), half (e, e), the
//              other product (e + 4, 4), tanh (8, 4), scale (4, 4), sum to 16 bits (4, e), scale
//              (4, 4), pow (4, 4), thrice (4, 4), times the gradient (8, 4), to 16 bits (4, e), and
//              the sums of the three gradients of x (2e, e each): reads 7e + 56, writes 6e + 36
//              FSDP's mixed precision has no autocast (torchtitan, maybe_enable_amp), so that all
//              kernels are in 16 bits and there are no casts: forward 8, reads 10e, writes 8e;
//              backward 11, reads 17e, writes 11e
//   residual   the sum is a kernel of its own: the norm reads it again
//   scores     attention without a library under autocast (nanoGPT before PyTorch 2.0, eager
//              attention of Hugging Face): forward scale (e, e), mask (e + 1, e), to fp32 (e, 4),
//              softmax (4, 4), to 16 bits (4, e), in place of one kernel (e, e); backward to fp32
//              (e, 4), softmax (8, 4), to 16 bits (4, e), mask (e + 1, e), scale (e, e), in place
//              of one kernel (2e, e)
#pragma once

#include "orrery/workload/training/pass_writer.h"

namespace orrery {

// The eager kernels of a norm, a rotation, a gated activation or a written GELU beyond the kernel
// `fused`. They are fusible.
void add_eager(PassWriter& w, const Elementwise& fused, const ProgramOp& op);

// The same of the scores of attention without a library, beyond the kernel `softmax`.
void add_eager_scores(PassWriter& w, const Elementwise& softmax, const ProgramOp& op);

}  // namespace orrery
