#include "orrery/workload/training/training_casts.h"

#include "orrery/workload/training/training_parameters.h"

namespace orrery {
namespace {

using Pass = TrainingPass;
using Cost = TrainingCost;

void add_cast(PassWriter& w, double elements, double read, double written, double count,
              const ProgramOp& op, TrainingPass pass) {
  if (elements <= 0) return;
  w.put(Elementwise{Elementwise::Kind::kQuantise, static_cast<std::int64_t>(elements / 1024) + 1,
                    1024, elements * Bytes(read), elements * Bytes(written)},
        count, op, pass, Cost::kCasts);
}

}  // namespace

void add_operand_cast(PassWriter& w, double elements, const FormatProperties& f, bool transposed,
                      double count, const ProgramOp& op, TrainingPass pass) {
  if (elements <= 0) return;
  const bool largest =
      w.job().precision.compute == Dtype::kFp4 || w.job().precision.recipe == Fp8Recipe::kCurrent;
  const double narrow = f.activation.value();
  add_cast(w, elements, largest ? 4 : 2, transposed ? 2 * narrow : narrow, count, op, pass);
  if (transposed) w.back().transposed = elements * Bytes(narrow);
}

void add_input_cast(PassWriter& w, double elements, const FormatProperties& f,
                    const ProgramOp& op) {
  const double repeated = w.again(op);
  if (repeated > 0 && repeated < 1)
    add_operand_cast(w, elements, f, !w.frozen(), op.count * (1 - repeated), op, Pass::kForward);
  if (repeated > 0)
    add_operand_cast(w, elements, f, false, op.count * repeated, op, Pass::kForward);
  add_operand_cast(w, elements, f, !w.frozen(), op.count * (repeated > 0 ? repeated : 1), op,
                   Pass::kForward);
}

void add_casts(PassWriter& w, const Gemm& g, const ProgramOp& op) {
  const double weights = real(g.n) * real(g.k);
  if (w.job().tuning == Tuning::kQlora && g.weight) {
    const double each = 1 + w.again(op);
    add_cast(w, weights, kNf4Bytes, w.element().value(), op.count * each, op, Pass::kForward);
    add_cast(w, weights, kNf4Bytes, w.element().value(), op.count, op, Pass::kBackwardInput);
  }
  const FormatProperties& f = properties(g.format);
  if (!f.quantises_activation) return;
  add_input_cast(w, real(g.m) * real(g.k), f, op);
  add_operand_cast(w, real(g.m) * real(g.n), f, !w.frozen(), op.count, op, Pass::kBackwardInput);
  if (!w.job().precision.fp8_parameters)
    add_operand_cast(w, weights, f, true, op.count / real(w.job().micro_batches()), op,
                     Pass::kForward);
}

}  // namespace orrery
