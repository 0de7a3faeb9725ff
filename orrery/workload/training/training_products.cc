#include "orrery/workload/training/training_products.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "orrery/workload/training/training_casts.h"

namespace orrery {
namespace {

using Pass = TrainingPass;
using Cost = TrainingCost;

// Whether the product has all of its weights on every tensor-parallel rank, so that sequence
// parallelism leaves each rank its own tokens.
bool whole_on_every_rank(std::string_view name) {
  constexpr std::array<std::string_view, 4> kNames = {"moe_latent_down", "moe_latent_up",
                                                      "per_layer_gate", "per_layer_proj"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

}  // namespace

void add_product(PassWriter& w, const Gemm& g, const ProgramOp& op) {
  // The latents of MLA are expanded for this rank's tokens alone: the cached ones are others'.
  Gemm forward = g;
  if (op.name == "kv_b_proj") forward.m = rank_tokens(w.job());
  if (w.plan().sequence_parallel && whole_on_every_rank(op.name))
    forward.m = std::max<std::int64_t>(1, g.m / w.plan().tp);
  w.forward_and_again(forward, op.count, op, Cost::kProducts);
  const GemmGradients back = gradients(forward);
  w.put(back.first, op.count, op, Pass::kBackwardInput, Cost::kProducts);
  if (!w.frozen()) w.put(back.second, op.count, op, Pass::kBackwardWeight, Cost::kProducts);
  add_accumulation(w, real(g.n) * real(g.k), op);
  add_casts(w, forward, op);
}

void add_accumulation(PassWriter& w, double weights, const ProgramOp& op) {
  if (w.frozen()) return;
  const double stored = bytes_per_element(w.job().precision.gradients).value();
  const bool adds = w.job().micro_batches() > 1;
  const auto moved = [&](double read, double written) {
    if (read + written <= 0) return;
    w.put(Elementwise{Elementwise::Kind::kCopy, static_cast<std::int64_t>(weights / 1024) + 1, 1024,
                      weights * Bytes(read), weights * Bytes(written)},
          op.count, op, Pass::kBackwardWeight, Cost::kElementwise);
  };
  moved(adds ? stored : 0, std::max(0.0, stored - w.element().value()));
  if (!adds) return;
  moved(w.element().value(), w.element().value());
  w.back().accumulates = true;
}

}  // namespace orrery
