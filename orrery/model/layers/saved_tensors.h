// The tensors that the forward pass of a mixer saves for its backward pass, as the mixer declares
// them to a visitor (memory/saved_activations.cc).
//
//   s.input({"q", "k"})         the row that the norm before the mixer made, an operand of the
//                               products that adapters call so
//   s.operand(w, {"o"}, rows)   an operand of the products that adapters call so
//   s.norm(w, rows)             the input of a norm over w elements
//   s.tensor(times, w)          `times` tensors of w elements in the format of the activations
//   s.tensor_fp32(w)
//   s.attention(heads, w)       what the core of attention saves: its output of w elements, which
//                               is the operand of the product "o", and scores or log-sum-exps
//   s.up_projections([&] {...}) tensors that recomputation of a latent's projections makes again
//                               (RecomputeModule::kMlaUpProj)
//   s.keys(w, expanded)         w, or `expanded` where the stack saves a copy of keys and values
//                               for each query head
//   s.gradients(w)              gradients of the operands of one op, which are alive at once
//   s.recomputed(times, w)      tensors that recomputation of products keeps
//                               (RecomputeModule::kProducts)
//
// Elements are those of one token of the rank. `rows` says of which tokens.
#pragma once

namespace orrery {

// Tokens of the chunks in which the kernels of delta rules compute a prompt (chunk_gated_delta_rule
// of flash-linear-attention); they keep a square matrix for each chunk and head.
inline constexpr int kDeltaChunk = 64;

enum class SavedRows {
  kAll,  // all tokens of the rank
  kOwn,  // 1/tp of them with sequence parallelism
};

}  // namespace orrery
