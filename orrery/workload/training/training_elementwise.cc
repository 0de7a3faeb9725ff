#include "orrery/workload/training/training_elementwise.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "orrery/workload/training/training_eager.h"

namespace orrery {
namespace {

using Pass = TrainingPass;
using Cost = TrainingCost;

bool of_residual_stream(std::string_view name) {
  constexpr std::array<std::string_view, 9> kNames = {
      "add_norm",    "norm",          "residual_add",    "final_norm",        "embedding_norm",
      "router_norm", "attn_residual", "moe_latent_norm", "per_layer_add_norm"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

}  // namespace

void add_elementwise(PassWriter& w, const Elementwise& e, const ProgramOp& op) {
  Elementwise forward = e;
  if (w.plan().sequence_parallel && of_residual_stream(op.name)) {
    forward.rows = std::max<std::int64_t>(1, e.rows / w.plan().tp);
    forward.read = e.read / w.plan().tp;
    forward.written = e.written / w.plan().tp;
  }
  const Cost cost = e.kind == Elementwise::Kind::kQuantise ? Cost::kCasts : Cost::kElementwise;
  w.forward_and_again(forward, op.count, op, cost);
  const Elementwise back = gradient(forward);
  if (back.read.value() > 0) w.put(back, op.count, op, Pass::kBackwardInput, cost);
  add_eager(w, forward, op);
  if (!w.job().dropout || !of_residual_stream(op.name)) return;
  // Dropout of the block's output: its mask is a byte an element.
  const Bytes stream = forward.written / (e.kind == Elementwise::Kind::kAddNorm ? 2 : 1);
  const Elementwise drop{Elementwise::Kind::kActivation, forward.rows, forward.width, stream,
                         1.5 * stream};
  w.put(drop, op.count, op, Pass::kForward, cost);
  const bool products = w.job().recomputes(RecomputeModule::kProducts) && w.in_layer(op);
  if (const double share = products ? 1 : w.in_layer(op) ? w.layers_again() : 0; share > 0)
    w.put(drop, op.count * share, op, Pass::kRecompute, cost);
  w.put(gradient(drop), op.count, op, Pass::kBackwardInput, cost);
}

}  // namespace orrery
