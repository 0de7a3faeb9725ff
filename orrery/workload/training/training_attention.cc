#include "orrery/workload/training/training_passes.h"

#include <algorithm>

namespace orrery {

void TrainingPasses::attention(const PrefillAttention& a, const ProgramOp& op) {
  if (a.value_dim == 0 || job_.flash) return flash(a, op.op, op);
  standard(a, op);
}

// `forward`: the op as the forward pass runs it; `a`: the same as plain attention.
void TrainingPasses::flash(const PrefillAttention& a, const Op& forward, const ProgramOp& op) {
  forward_and_again(forward, op.count, op, Cost::kAttention);
  if (job_.recomputes(RecomputeModule::kCoreAttention))
    put(forward, op.count, op, Pass::kRecompute, Cost::kAttention);
  put(AttentionBackward{a}, op.count, op, Pass::kBackwardInput, Cost::kAttentionBackward);
}

void TrainingPasses::latent(const LatentAttentionCore& l, const ProgramOp& op) {
  const int width = l.qk_nope_dim + l.qk_rope_dim;
  const auto past = static_cast<std::int64_t>(l.context) - l.new_tokens;
  flash({.batch = l.batch,
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

// Scores in memory: all pairs are computed, masked ones too.
void TrainingPasses::standard(const PrefillAttention& a, const ProgramOp& op) {
  const std::int64_t keys = a.past * 2 + a.new_tokens;  // of the whole sequence
  const Format format = plain_format(job_.precision.activations);
  const Gemm scores{a.new_tokens, keys, a.head_dim, a.batch * a.heads, format, false};
  const Gemm values{a.new_tokens, a.value_dim, keys, a.batch * a.heads, format, false};
  const std::int64_t rows = a.batch * a.heads * a.new_tokens;
  const Bytes matrix = real(rows) * real(keys) * element_;
  // Scale, mask and softmax in one kernel; dropout in another, with its mask.
  const Elementwise softmax{Elementwise::Kind::kSoftmax, rows, keys, matrix, matrix};
  const Elementwise dropout{Elementwise::Kind::kActivation, rows, keys, matrix, 1.5 * matrix};
  const bool again = job_.recomputes(RecomputeModule::kCoreAttention);
  const auto both = [&](const Op& o, Cost cost) {
    forward_and_again(o, op.count, op, cost);
    if (again) put(o, op.count, op, Pass::kRecompute, cost);
  };
  both(scores, Cost::kAttention);
  both(softmax, Cost::kAttention);
  eager_scores(softmax, op);
  if (job_.dropout) both(dropout, Cost::kAttention);
  both(values, Cost::kAttention);
  for (const Gemm& g : {scores, values}) {
    const GemmGradients back = gradients(g);
    for (Gemm b : {back.first, back.second}) {
      b.weight = false;
      put(b, op.count, op, Pass::kBackwardInput, Cost::kAttentionBackward);
    }
  }
  put(gradient(softmax), op.count, op, Pass::kBackwardInput, Cost::kAttentionBackward);
  if (job_.dropout)
    put(gradient(dropout), op.count, op, Pass::kBackwardInput, Cost::kAttentionBackward);
}

}  // namespace orrery
