#include "orrery/workload/training/pass_writer.h"

#include <algorithm>

namespace orrery {

PassWriter::PassWriter(const Architecture& model, const TrainingJob& job, int chunk)
    : model_(model),
      job_(job),
      range_(chunk_layers(model, job.plan, chunk)),
      first_(chunk == 0),
      last_(chunk == job.plan.pp * job.plan.vp - 1),
      element_(bytes_per_element(job.precision.activations)) {
  if (job.recompute == Recompute::kFull) {
    layers_again_ = job.recompute_layers == 0 || range_.size() == 0
                        ? 1.0
                        : std::min(1.0, 1.0 * job.recompute_layers / range_.size());
  }
  ops_.reserve(128);
}

void PassWriter::put(Op op, double count, const ProgramOp& from, TrainingPass pass,
                     TrainingCost cost) {
  ops_.push_back({.op = op,
                  .count = count,
                  .name = from.name,
                  .pass = pass,
                  .cost = cost,
                  .part = from.part,
                  .fusible = from.fusible});
}

bool PassWriter::in_layer(const ProgramOp& op) const {
  return op.part != Part::kEmbedding && op.name != "final_norm" &&
         op.name != "embedding_all_reduce";
}

double PassWriter::again(const ProgramOp& op, const Op& derived) const {
  if (!in_layer(op)) return 0;
  if (job_.recompute != Recompute::kSelective) return layers_again_;
  if (job_.recomputes(RecomputeModule::kProducts))
    return std::holds_alternative<Gemm>(derived)          ? 0.5
           : std::holds_alternative<Elementwise>(derived) ? 1
                                                          : 0;
  const auto share = [this](RecomputeModule module, double of_calls = 1) {
    return job_.recomputes(module) ? of_calls : 0;
  };
  // A norm alone moves half of the bytes of a norm with the addition before it.
  if (op.name == "add_norm") return share(RecomputeModule::kLayerNorm, 0.5);
  if (op.part == Part::kMlp) return share(RecomputeModule::kMlp);
  if (op.part == Part::kMoe) return share(RecomputeModule::kMoe);
  if (op.up_projection) return share(RecomputeModule::kMlaUpProj);
  return 0;
}

void PassWriter::forward_and_again(const Op& op, double count, const ProgramOp& from,
                                   TrainingCost cost) {
  put(op, count, from, TrainingPass::kForward, cost);
  if (const double share = again(from, op); share > 0)
    put(op, count * share, from, TrainingPass::kRecompute, cost);
}

}  // namespace orrery
