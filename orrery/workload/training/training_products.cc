#include "orrery/workload/training/training_passes.h"

#include <algorithm>
#include <array>

#include "orrery/workload/training/training_parameters.h"

namespace orrery {
namespace {

bool of_residual_stream(std::string_view name) {
  constexpr std::array<std::string_view, 9> kNames = {
      "add_norm",    "norm",          "residual_add",    "final_norm",        "embedding_norm",
      "router_norm", "attn_residual", "moe_latent_norm", "per_layer_add_norm"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

// Whether the product has all of its weights on every tensor-parallel rank, so that sequence
// parallelism leaves each rank its own tokens.
bool whole_on_every_rank(std::string_view name) {
  constexpr std::array<std::string_view, 4> kNames = {"moe_latent_down", "moe_latent_up",
                                                      "per_layer_gate", "per_layer_proj"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

}  // namespace

void TrainingPasses::product(const Gemm& g, const ProgramOp& op) {
  // The latents of MLA are expanded for this rank's tokens alone: the cached ones are others'.
  Gemm forward = g;
  if (op.name == "kv_b_proj") forward.m = rank_tokens(job_);
  if (plan_.sequence_parallel && whole_on_every_rank(op.name))
    forward.m = std::max<std::int64_t>(1, g.m / plan_.tp);
  forward_and_again(forward, op.count, op, Cost::kProducts);
  const GemmGradients back = gradients(forward);
  put(back.first, op.count, op, Pass::kBackwardInput, Cost::kProducts);
  if (!frozen_) put(back.second, op.count, op, Pass::kBackwardWeight, Cost::kProducts);
  accumulate(real(g.n) * real(g.k), op);
  casts(forward, op);
}

// The weight's gradient is added to what earlier micro-batches left: in the product's kernel
// where stacks fuse it (gradient_accumulation_fusion); where another kernel adds it, that reads
// again, and writes again, what the product's kernel wrote in 16 bits.
void TrainingPasses::accumulate(double weights, const ProgramOp& op) {
  if (frozen_) return;
  const double stored = bytes_per_element(job_.precision.gradients).value();
  const bool adds = job_.micro_batches() > 1;
  const auto moved = [&](double read, double written) {
    if (read + written <= 0) return;
    put(Elementwise{Elementwise::Kind::kCopy, static_cast<std::int64_t>(weights / 1024) + 1, 1024,
                    weights * Bytes(read), weights * Bytes(written)},
        op.count, op, Pass::kBackwardWeight, Cost::kElementwise);
  };
  moved(adds ? stored : 0, std::max(0.0, stored - element_.value()));
  if (!adds) return;
  moved(element_.value(), element_.value());
  ops_.back().accumulates = true;
}

void TrainingPasses::cast(double elements, double read, double written, double count,
                          const ProgramOp& op, Pass pass) {
  if (elements <= 0) return;
  put(Elementwise{Elementwise::Kind::kQuantise, static_cast<std::int64_t>(elements / 1024) + 1,
                  1024, elements * Bytes(read), elements * Bytes(written)},
      count, op, pass, Cost::kCasts);
}

void TrainingPasses::casts(const Gemm& g, const ProgramOp& op) {
  const double weights = real(g.n) * real(g.k);
  if (job_.tuning == Tuning::kQlora && g.weight) {
    const double each = 1 + again(op);
    cast(weights, kNf4Bytes, element_.value(), op.count * each, op, Pass::kForward);
    cast(weights, kNf4Bytes, element_.value(), op.count, op, Pass::kBackwardInput);
  }
  const FormatProperties& f = properties(g.format);
  if (!f.quantises_activation) return;
  cast_input(real(g.m) * real(g.k), f, op);
  cast_operand(real(g.m) * real(g.n), f, !frozen_, op.count, op, Pass::kBackwardInput);
  if (!job_.precision.fp8_parameters)
    cast_operand(weights, f, true, op.count / real(job_.micro_batches()), op, Pass::kForward);
}

// A tensor in 16 bits is read and written in narrow ones, once more transposed for the product in
// which its other dimension is the inner one. A scale from the largest value of the tensor itself
// (TransformerEngine's Float8CurrentScaling and NVFP4BlockScaling) needs that value first: one more
// pass over the tensor.
void TrainingPasses::cast_operand(double elements, const FormatProperties& f, bool transposed,
                                  double count, const ProgramOp& op, Pass pass) {
  if (elements <= 0) return;
  const bool largest =
      job_.precision.compute == Dtype::kFp4 || job_.precision.recipe == Fp8Recipe::kCurrent;
  const double narrow = f.activation.value();
  cast(elements, largest ? 4 : 2, transposed ? 2 * narrow : narrow, count, op, pass);
  if (transposed) ops_.back().transposed = elements * Bytes(narrow);
}

// The input of a product. The gradient of the weight reads its transpose, which a forward pass that
// runs again makes only then.
void TrainingPasses::cast_input(double elements, const FormatProperties& f, const ProgramOp& op) {
  const double repeated = again(op);
  if (repeated > 0 && repeated < 1)
    cast_operand(elements, f, !frozen_, op.count * (1 - repeated), op, Pass::kForward);
  if (repeated > 0) cast_operand(elements, f, false, op.count * repeated, op, Pass::kForward);
  cast_operand(elements, f, !frozen_, op.count * (repeated > 0 ? repeated : 1), op, Pass::kForward);
}

void TrainingPasses::elementwise(const Elementwise& e, const ProgramOp& op) {
  Elementwise forward = e;
  if (plan_.sequence_parallel && of_residual_stream(op.name)) {
    forward.rows = std::max<std::int64_t>(1, e.rows / plan_.tp);
    forward.read = e.read / plan_.tp;
    forward.written = e.written / plan_.tp;
  }
  const Cost cost = e.kind == Elementwise::Kind::kQuantise ? Cost::kCasts : Cost::kElementwise;
  forward_and_again(forward, op.count, op, cost);
  const Elementwise back = gradient(forward);
  if (back.read.value() > 0) put(back, op.count, op, Pass::kBackwardInput, cost);
  eager(forward, op);
  if (!job_.dropout || !of_residual_stream(op.name)) return;
  // Dropout of the block's output: its mask is a byte an element.
  const Bytes stream = forward.written / (e.kind == Elementwise::Kind::kAddNorm ? 2 : 1);
  const Elementwise drop{Elementwise::Kind::kActivation, forward.rows, forward.width, stream,
                         1.5 * stream};
  put(drop, op.count, op, Pass::kForward, cost);
  const bool products = job_.recomputes(RecomputeModule::kProducts) && in_layer(op);
  if (const double share = products ? 1 : in_layer(op) ? recomputed_ : 0; share > 0)
    put(drop, op.count * share, op, Pass::kRecompute, cost);
  put(gradient(drop), op.count, op, Pass::kBackwardInput, cost);
}

}  // namespace orrery
