#include "orrery/workload/training/training_passes.h"

#include <algorithm>

namespace orrery {

TrainingPasses::TrainingPasses(const Architecture& model, const TrainingJob& job, int chunk)
    : model_(model), job_(job), plan_(job.plan), range_(chunk_layers(model, plan_, chunk)) {
  start_ = chunk == 0;
  end_ = chunk == plan_.pp * plan_.vp - 1;
  element_ = bytes_per_element(job.precision.activations);
  frozen_ = job.tuning != Tuning::kFull;
  if (job.recompute == Recompute::kFull) {
    recomputed_ = job.recompute_layers == 0 || range_.size() == 0
                      ? 1.0
                      : std::min(1.0, 1.0 * job.recompute_layers / range_.size());
  }
  ops_.reserve(128);
}

std::vector<TrainingOp> TrainingPasses::build() {
  Batch batch;
  SequenceGroup group;
  const ParallelPlan plan = stage_plan(plan_);
  const std::int64_t document = job_.attended();
  group.sequences = job_.micro_batch * (job_.seq / document) * plan.dp;
  group.new_tokens = document / plan_.cp;
  // The mean keys of a zig-zag share: (s/cp) * (s - s/cp)/2 + (s/cp)^2/2 pairs, 1/cp of all.
  // With consecutive shares all ranks wait for the last one, which attends to every part before it.
  // Ranks that share heads have the same part.
  const bool last = plan_.ring_ranks() > 1 && !plan_.zigzag;
  const double ring = last ? plan_.ring_ranks() : 1;
  group.past = real(document) * (1 - 0.5 / ring) - real(group.new_tokens) / 2;
  group.sampled = false;
  batch.groups = {group};
  ProgramOptions options;
  options.expert_skew = job_.expert_skew;
  options.slice = LayerSlice{range_, start_, end_};
  const Program forward =
      forward_program(model_, plan, stage_precision(job_.precision), batch, options);
  std::size_t exchanged = 0;  // of the current kind of layer: 1 if it has routed experts
  for (const ProgramOp& op : forward.ops) {
    if (std::holds_alternative<MoeExperts>(op.op)) exchanged = 1;
    add(op, exchanged == 1);
    if (op.name == "tp_all_reduce") exchanged = 0;
  }
  if (plan_.cp > 1) context();
  if (frozen_) adapters();
  if (end_) head();
  return std::move(ops_);
}

void TrainingPasses::put(Op op, double count, const ProgramOp& from, Pass pass, Cost cost) {
  ops_.push_back({.op = op,
                  .count = count,
                  .name = from.name,
                  .pass = pass,
                  .cost = cost,
                  .part = from.part,
                  .fusible = from.fusible});
}

// Whether the op belongs to a layer, which full recomputation runs again.
bool TrainingPasses::in_layer(const ProgramOp& op) const {
  return op.part != Part::kEmbedding && op.name != "final_norm" &&
         op.name != "embedding_all_reduce";
}

// The share of an op's calls that recomputation runs again; `op` is derived from `from`.
double TrainingPasses::again(const ProgramOp& from, const Op& derived) const {
  const ProgramOp& op = from;
  if (!in_layer(op)) return 0;
  if (job_.recompute != Recompute::kSelective) return recomputed_;
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

void TrainingPasses::forward_and_again(const Op& op, double count, const ProgramOp& from,
                                       Cost cost) {
  put(op, count, from, Pass::kForward, cost);
  if (const double share = again(from, op); share > 0)
    put(op, count * share, from, Pass::kRecompute, cost);
}

namespace {

// Forward passes that take as long as the gradient of a recurrent mixer or of its convolution: two,
// but for Mamba-2. Its gradient (mamba_ssm ops/triton/ssd_combined.py,
// _mamba_chunk_scan_combined_bwd) computes chunk states, their passing and C B again, then the
// gradients of states, x, B, C, C B and the decays. With H heads of P channels, state N, G groups
// and chunks of Q tokens these are 10 HPN + 6 QHP + 6 QGN products a token in place of
// 4 HPN + 2 QHP + 2 QGN, and eleven passes over the states in place of four. The convolution runs
// again (mamba_split_conv1d_scan_combined), and its gradient reads two tensors and writes one.
double mixer_gradient_passes(const Op& op) {
  if (const auto* c = std::get_if<CausalConvolution>(&op))
    return c->mixer == LinearAttentionCore::Kind::kMamba2 ? 2.5 : 2;
  const auto* a = std::get_if<LinearAttentionCore>(&op);
  if (!a || a->kind != LinearAttentionCore::Kind::kMamba2) return 2;
  const double states = 1.0 * a->v_heads * a->v_dim * a->k_dim;
  const double scan = 1.0 * a->chunk * (a->v_heads * a->v_dim + a->k_heads * a->k_dim);
  return (10 * states + 6 * scan) / (4 * states + 2 * scan);
}

}  // namespace

void TrainingPasses::add(const ProgramOp& op, bool experts) {
  if (op.name == "kv_write") return;  // there is no cache
  if (const auto* g = std::get_if<Gemm>(&op.op)) return product(*g, op);
  if (const auto* a = std::get_if<PrefillAttention>(&op.op)) return attention(*a, op);
  if (const auto* l = std::get_if<LatentAttentionCore>(&op.op)) return latent(*l, op);
  if (const auto* m = std::get_if<MoeExperts>(&op.op)) return routed(*m, op);
  if (const auto* c = std::get_if<Collective>(&op.op)) return collective(*c, op, experts);
  if (const auto* e = std::get_if<Elementwise>(&op.op)) return elementwise(*e, op);
  if (std::holds_alternative<Embedding>(op.op)) {
    put(op.op, op.count, op, Pass::kForward, Cost::kElementwise);
    if (!frozen_) embedding_gradient(op);
    return;
  }
  // Recurrent mixers and their convolutions.
  forward_and_again(op.op, op.count, op, Cost::kAttention);
  put(op.op, mixer_gradient_passes(op.op) * op.count, op, Pass::kBackwardInput,
      Cost::kAttentionBackward);
}

}  // namespace orrery
