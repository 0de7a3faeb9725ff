// Einsums of the ops of a model's step (workload/inference/program.h).
//
//   product      Z[b, m, n] = A[b, m, k] * W[k, n] (its batch b in W too where operands differ)
//   attention    QK: S[b, g, r, q, k] = Q[b, g, r, q, e] * K[b, g, k, e], and
//                AV: Z[b, g, r, q, v] = S[b, g, r, q, k] * V[b, g, k, v], where g are the groups of
//                query heads that share a key-value head, and r the heads of a group. Every query
//                sees every key: causal masks are not taken into account. Keys of a fractional
//                mean context are rounded up
//   experts      up: U[x, t, f] = T[x, t, h] * W1[x, h, f], and down, where x are the experts in
//                use on the busiest rank and t the tokens of each; gated experts have twice the
//                width f in up
//   elementwise  Y[t, f] = X[t, f]: an operation on each element
#pragma once

#include <optional>

#include "orrery/accelerator/problem/cascade.h"
#include "orrery/workload/ops/op.h"

namespace orrery {

// The einsums of an op, with the op's name; nothing for ops that are no einsums (embeddings,
// collectives, recurrent state).
std::optional<Cascade> einsums_of(const Op& op, const std::string& name);

}  // namespace orrery
