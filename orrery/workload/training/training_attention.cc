#include "orrery/workload/training/training_attention.h"

#include <algorithm>

#include "orrery/workload/training/training_eager.h"

namespace orrery {
namespace {

using Pass = TrainingPass;
using Cost = TrainingCost;

// `forward`: the op as the forward pass runs it; `a`: the same as plain attention.
void add_flash(PassWriter& w, const PrefillAttention& a, const Op& forward, const ProgramOp& op) {
  w.forward_and_again(forward, op.count, op, Cost::kAttention);
  if (w.job().recomputes(RecomputeModule::kCoreAttention))
    w.put(forward, op.count, op, Pass::kRecompute, Cost::kAttention);
  w.put(AttentionBackward{a}, op.count, op, Pass::kBackwardInput, Cost::kAttentionBackward);
}

// Scores in memory: all pairs are computed, masked ones too.
void add_standard(PassWriter& w, const PrefillAttention& a, const ProgramOp& op) {
  const std::int64_t keys = a.past * 2 + a.new_tokens;  // of the whole sequence
  const Format format = plain_format(w.job().precision.activations);
  const Gemm scores{a.new_tokens, keys, a.head_dim, a.batch * a.heads, format, false};
  const Gemm values{a.new_tokens, a.value_dim, keys, a.batch * a.heads, format, false};
  const std::int64_t rows = a.batch * a.heads * a.new_tokens;
  const Bytes matrix = real(rows) * real(keys) * w.element();
  // Scale, mask and softmax in one kernel; dropout in another, with its mask.
  const Elementwise softmax{Elementwise::Kind::kSoftmax, rows, keys, matrix, matrix};
  const Elementwise dropout{Elementwise::Kind::kActivation, rows, keys, matrix, 1.5 * matrix};
  const bool again = w.job().recomputes(RecomputeModule::kCoreAttention);
  const auto both = [&](const Op& o, Cost cost) {
    w.forward_and_again(o, op.count, op, cost);
    if (again) w.put(o, op.count, op, Pass::kRecompute, cost);
  };
  both(scores, Cost::kAttention);
  both(softmax, Cost::kAttention);
  add_eager_scores(w, softmax, op);
  if (w.job().dropout) both(dropout, Cost::kAttention);
  both(values, Cost::kAttention);
  for (const Gemm& g : {scores, values}) {
    const GemmGradients back = gradients(g);
    for (Gemm b : {back.first, back.second}) {
      b.weight = false;
      w.put(b, op.count, op, Pass::kBackwardInput, Cost::kAttentionBackward);
    }
  }
  w.put(gradient(softmax), op.count, op, Pass::kBackwardInput, Cost::kAttentionBackward);
  if (w.job().dropout)
    w.put(gradient(dropout), op.count, op, Pass::kBackwardInput, Cost::kAttentionBackward);
}

}  // namespace

void add_attention(PassWriter& w, const PrefillAttention& a, const ProgramOp& op) {
  if (a.value_dim == 0 || w.job().flash) return add_flash(w, a, op.op, op);
  add_standard(w, a, op);
}

void add_latent_attention(PassWriter& w, const LatentAttentionCore& l, const ProgramOp& op) {
  const int width = l.qk_nope_dim + l.qk_rope_dim;
  const auto past = static_cast<std::int64_t>(l.context) - l.new_tokens;
  add_flash(w,
            {.batch = l.batch,
             .new_tokens = l.new_tokens,
             .past = std::max<std::int64_t>(past, 0),
             .heads = l.heads,
             .kv_heads = l.heads,
             .head_dim = width,
             .value_dim = l.value_dim,
             .dtype = l.dtype,
             .kv_dtype = l.kv_dtype},
            op.op, op);
}

}  // namespace orrery
