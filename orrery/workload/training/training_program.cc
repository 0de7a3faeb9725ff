#include "orrery/workload/training/training_program.h"

#include <array>

#include "orrery/model/architecture/parameters.h"
#include "orrery/workload/training/training_passes.h"

namespace orrery {

std::string_view to_text(TrainingCost cost) {
  constexpr std::array<std::string_view, kTrainingCosts> kNames = {
      "products", "attention", "attention_backward", "experts", "elementwise", "casts", "head",
      "tensor",   "context",   "expert_exchange"};
  return kNames[static_cast<std::size_t>(cost)];
}

TrainingOp one_for_all(TrainingOp op) {
  std::get<Gemm>(op.op).n *= op.experts;
  op.count /= op.experts;
  return op;
}

bool transposes_operands(const TrainingPrecision& precision, const GpuArchitecture& architecture) {
  const bool whole = precision.compute == Dtype::kFp8 && (precision.recipe == Fp8Recipe::kTensor ||
                                                          precision.recipe == Fp8Recipe::kCurrent);
  return !whole || !architecture.any_fp8_layout;
}

TrainingOp without_transpose(TrainingOp op) {
  std::get<Elementwise>(op.op).written -= op.transposed;
  op.transposed = Bytes(0);
  return op;
}

std::vector<TrainingOp> training_ops(const Architecture& model, const TrainingJob& job, int chunk) {
  return TrainingPasses(model, job, chunk).build();
}

double model_flops_per_token(const Architecture& model, const TrainingJob& job) {
  double attention = 0;  // forward, a document
  double recurrent = 0;  // forward, a token
  for (std::size_t i = 0; i < model.layers.specs().size(); ++i) {
    const Mixer& mixer = model.layers.specs()[i].mixer;
    const int layers = model.layers.count(static_cast<int>(i));
    recurrent += 2 * state_products(mixer) * layers;
    const double pair = 2 * real(attention_widths(mixer).queries.total());
    if (pair == 0) continue;
    attention += pair * layers *
                 attended_pairs(job.attended(), 0, kept_state(mixer).window,
                                model.kind == orrery::Kind::kDecoder);
  }
  // Rows of the table of per-layer inputs are looked up, not multiplied.
  const double looked_up =
      model.layers.empty()
          ? 0
          : 1.0 * model.per_layer_vocab * model.layers.at(0).per_layer_input * model.layers.size();
  const double weights = real(count_parameters(model).active_without_embedding()) - looked_up;
  const bool frozen = job.tuning != Tuning::kFull;
  return (frozen ? 4 : 6) * weights + 3 * (attention / real(job.attended()) + recurrent);
}

}  // namespace orrery
