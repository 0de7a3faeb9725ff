#include "orrery/workload/training/training_program.h"

#include <array>

#include "orrery/base/index.h"
#include "orrery/model/architecture/parameters.h"
#include "orrery/workload/training/context_exchanges.h"
#include "orrery/workload/training/pass_writer.h"
#include "orrery/workload/training/tensor_collectives.h"
#include "orrery/workload/training/training_adapters.h"
#include "orrery/workload/training/training_attention.h"
#include "orrery/workload/training/training_elementwise.h"
#include "orrery/workload/training/training_experts.h"
#include "orrery/workload/training/training_head.h"
#include "orrery/workload/training/training_products.h"

namespace orrery {

std::string_view to_text(TrainingCost cost) {
  constexpr std::array<std::string_view, kTrainingCosts> kNames = {
      "products", "attention", "attention_backward", "experts", "elementwise", "casts", "head",
      "tensor",   "context",   "expert_exchange"};
  return kNames[index(cost)];
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

namespace {

using Pass = TrainingPass;
using Cost = TrainingCost;

// The forward pass of a micro-batch through the virtual stage.
Program stage_program(const PassWriter& w) {
  Batch batch;
  SequenceGroup group;
  const ParallelPlan plan = stage_plan(w.plan());
  const std::int64_t document = w.job().attended();
  group.sequences = w.job().micro_batch * (w.job().seq / document) * plan.dp;
  group.new_tokens = document / w.plan().cp;
  // The mean keys of a zig-zag share: (s/cp) * (s - s/cp)/2 + (s/cp)^2/2 pairs, 1/cp of all.
  // With consecutive shares all ranks wait for the last one, which attends to every part before it.
  // Ranks that share heads have the same part.
  const bool last = w.plan().ring_ranks() > 1 && !w.plan().zigzag;
  const double ring = last ? w.plan().ring_ranks() : 1;
  group.past = real(document) * (1 - 0.5 / ring) - real(group.new_tokens) / 2;
  group.sampled = false;
  batch.groups = {group};
  ProgramOptions options;
  options.expert_skew = w.job().expert_skew;
  options.slice = LayerSlice{w.range(), w.first(), w.last()};
  return forward_program(w.model(), plan, stage_precision(w.job().precision), batch, options);
}

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

// The passes of an op of the forward Program. `experts`: its layer has routed experts.
void add_passes(PassWriter& w, const ProgramOp& op, bool experts) {
  if (op.name == "kv_write") return;  // there is no cache
  if (const auto* g = std::get_if<Gemm>(&op.op)) return add_product(w, *g, op);
  if (const auto* a = std::get_if<PrefillAttention>(&op.op)) return add_attention(w, *a, op);
  if (const auto* l = std::get_if<LatentAttentionCore>(&op.op))
    return add_latent_attention(w, *l, op);
  if (const auto* m = std::get_if<MoeExperts>(&op.op)) return add_routed_experts(w, *m, op);
  if (const auto* c = std::get_if<Collective>(&op.op)) return add_collective(w, *c, op, experts);
  if (const auto* e = std::get_if<Elementwise>(&op.op)) return add_elementwise(w, *e, op);
  if (std::holds_alternative<Embedding>(op.op)) {
    w.put(op.op, op.count, op, Pass::kForward, Cost::kElementwise);
    if (!w.frozen()) add_embedding_gradient(w, op);
    return;
  }
  // Recurrent mixers and their convolutions.
  w.forward_and_again(op.op, op.count, op, Cost::kAttention);
  w.put(op.op, mixer_gradient_passes(op.op) * op.count, op, Pass::kBackwardInput,
        Cost::kAttentionBackward);
}

}  // namespace

std::vector<TrainingOp> training_ops(const Architecture& model, const TrainingJob& job, int chunk) {
  PassWriter w(model, job, chunk);
  const Program forward = stage_program(w);
  bool experts = false;  // the current kind of layer has routed experts
  for (const ProgramOp& op : forward.ops) {
    if (std::holds_alternative<MoeExperts>(op.op)) experts = true;
    add_passes(w, op, experts);
    if (op.name == "tp_all_reduce") experts = false;
  }
  if (w.plan().cp > 1) add_context_exchanges(w);
  if (w.frozen()) add_adapters(w);
  if (w.last()) add_head(w);
  return w.take();
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
