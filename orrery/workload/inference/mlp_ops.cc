#include "orrery/workload/inference/mlp_ops.h"

#include <algorithm>
#include <cmath>

#include "orrery/workload/inference/rank_products.h"

namespace orrery {
namespace {

struct MlpNames {
  std::string_view input_quantise, gate_up, up, activation, down_quantise, down;
};
constexpr MlpNames kDenseNames = {"mlp_quantise", "gate_up_proj",  "up_proj",
                                  "activation",   "down_quantise", "down_proj"};
constexpr MlpNames kSharedNames = {"shared_quantise",   "shared_gate_up_proj",  "shared_up_proj",
                                   "shared_activation", "shared_down_quantise", "shared_down_proj"};

// Gate and up are one product. Gated activations read both halves.
void add_dense(OpList& ops, const RankStep& step, const MlpNames& names, Part part,
               const MlpMatrices& matrices) {
  const RankProduct up = product_of<"gate", "up">(step, matrices);
  const RankProduct down = product_of<"down">(step, matrices);
  const bool gated = matrices.gated;
  const Format format = step.precision.weights;
  ops.quantise(names.input_quantise, part, step.tokens(), up.inputs, step.element(), format);
  ops.gemm(gated ? names.gate_up : names.up, part, step.tokens(), up.outputs, up.inputs, format);
  ops.elementwise(names.activation, part, Elementwise::Kind::kActivation,
                  {step.tokens(), down.inputs, step.element(), gated ? 2.0 : 1.0, 1});
  ops.quantise(names.down_quantise, part, step.tokens(), down.inputs, step.element(), format);
  ops.gemm(names.down, part, step.tokens(), down.outputs, down.inputs, format);
}

void add_shared_experts(OpList& ops, const RankStep& step, const MoeMlp& m) {
  if (m.shared_intermediate == 0) return;
  ops.shared_experts(true);
  add_dense(ops, step, kSharedNames, Part::kMoe, m.shared_matrices());
  if (m.shared_gate) {
    const RankProduct gate = product_of<"s_gate">(step, m);
    ops.gemm("shared_gate", Part::kMoe, step.tokens(), gate.outputs, gate.inputs, step.plain());
  }
  ops.shared_experts(false);
  ops.elementwise("shared_add", Part::kMoe, Elementwise::Kind::kAdd,
                  {step.tokens(), step.hidden(), step.element(), 2, 1}, true);
}

// The load of the busiest rank over the mean, with which tokens arrive there.
double busiest_load(const RankStep& step, const MoeMlp& m) {
  const std::int64_t tokens = step.batch.all_tokens;
  const int ep = step.plan.ep, redundant = step.plan.experts.redundant;
  return step.plan.experts.eplb()
             ? eplb_imbalance(tokens, {m.experts, m.top_k, step.expert_skew}, redundant, ep)
             : expert_imbalance(tokens, m.experts, m.top_k, ep, step.expert_skew);
}

// DeepEP has kernels of low latency for steps that only decode.
bool low_latency(const RankStep& step) {
  const DeepEpMode mode = step.plan.experts.mode;
  return mode == DeepEpMode::kLowLatency || (mode == DeepEpMode::kAuto && decodes_only(step.batch));
}

// One leg of the exchange of tokens between dp groups and experts; `element` is what a value takes
// on the wire.
void add_exchange(OpList& ops, const RankStep& step, const MoeMlp& m, bool dispatch,
                  Bytes element) {
  const ParallelPlan& plan = step.plan;
  if (plan.dp == 1) return;
  const double hidden = real(m.row(step.hidden()));
  const std::string_view name = dispatch ? "moe_dispatch" : "moe_combine";
  // The moe_tp ranks of an expert group need the same tokens: each is sent moe_tp times, by tp
  // ranks.
  const double share = 1.0 * plan.moe_tp() / plan.tp;
  const double sent = real(step.tokens()) * share * std::min(m.top_k, plan.ep);
  if (plan.dispatches()) {
    const ExpertMove move{
        .combine = !dispatch,
        .low_latency = low_latency(step),
        .narrow = element < Bytes(2),
        .tokens = std::max<std::int64_t>(1, std::llround(real(step.tokens()) * share)),
        .hidden = static_cast<int>(hidden),
        .top_k = m.top_k,
        .groups = m.groups,
        .top_groups = m.top_groups,
        .imbalance = busiest_load(step, m)};
    ops.exchange(name, move, plan.ep, sent * hidden * element);
  } else if (plan.ep >= plan.dp) {
    ops.collective(name, Collective::Kind::kAllToAll, Collective::Group::kExpert, plan.ep,
                   sent * hidden * element);
  } else {
    const Bytes all = real(step.batch.all_tokens) * hidden * element;
    ops.collective(name, dispatch ? Collective::Kind::kAllGather : Collective::Kind::kReduceScatter,
                   Collective::Group::kData, plan.dp, all);
  }
}

// The products of the experts. Copies that a load balancer has placed count as experts of equal
// load.
void add_experts(OpList& ops, const RankStep& step, const MoeMlp& m) {
  const ParallelPlan& plan = step.plan;
  MoeExperts e{step.batch.all_tokens,
               static_cast<int>(m.row(step.hidden())),
               m.intermediate,
               m.experts,
               m.top_k,
               plan.moe_tp(),
               plan.ep,
               m.gated,
               step.expert_skew,
               step.precision.experts};
  if (plan.experts.eplb() && plan.ep > 1) {
    e.experts += plan.experts.redundant;
    e.tokens = std::llround(std::ceil(real(e.tokens) * busiest_load(step, m)));
    e.skew = 0;
  }
  if (plan.dispatches()) {
    e.dispatched =
        low_latency(step) ? MoeExperts::Dispatched::kDecode : MoeExperts::Dispatched::kPrefill;
  }
  ops.add("moe_experts", Part::kMoe, e);
}

// Experts of a latent: the projection to it before the tokens are sent; the sum over the
// tensor-parallel ranks, the norm and the projection back, which every rank does whole, after they
// return (LatentMoERunner of vLLM). The projections stay in 16 bits (Precision::weights does not
// apply to them), as in the checkpoints of Nemotron 3 and Kimi-K3.
void add_latent_input(OpList& ops, const RankStep& step, const MoeMlp& m) {
  const RankProduct down = product_of<"latent_d">(step, m);
  ops.gemm("moe_latent_down", Part::kMoe, step.tokens(), down.outputs, down.inputs, step.plain());
}

void add_latent_output(OpList& ops, const RankStep& step, const MoeMlp& m) {
  if (step.tp() > 1) {
    ops.collective("moe_latent_all_reduce", Collective::Kind::kAllReduce,
                   Collective::Group::kTensor, step.tp(),
                   real(step.tokens()) * m.latent * step.element());
  }
  if (m.latent_norm) {
    ops.elementwise("moe_latent_norm", Part::kMoe, Elementwise::Kind::kNorm,
                    {step.tokens(), m.latent, step.element(), 1, 1});
  }
  const RankProduct up = product_of<"latent_u">(step, m);
  ops.gemm("moe_latent_up", Part::kMoe, step.tokens(), up.outputs, up.inputs, step.plain());
}

void add_moe(OpList& ops, const RankStep& step, const MoeMlp& m) {
  const Format format = step.precision.experts;
  if (m.router_scales) {
    // A norm without weights and a learned scale of the router's input alone.
    ops.elementwise("router_norm", Part::kMoe, Elementwise::Kind::kNorm,
                    {step.tokens(), step.hidden(), step.element(), 1, 1});
  }
  const RankProduct router = product_of<"router">(step, m);
  ops.gemm("router", Part::kMoe, step.tokens(), router.outputs, router.inputs,
           m.router_fp32 ? step.precision.fp32_products : step.plain());
  if (m.latent > 0) add_latent_input(ops, step, m);
  const FormatProperties& f = properties(format);
  add_exchange(ops, step, m, true, f.quantises_activation ? f.activation : step.element());
  add_experts(ops, step, m);
  add_exchange(ops, step, m, false, step.element());
  if (m.latent > 0) add_latent_output(ops, step, m);
  add_shared_experts(ops, step, m);
}

}  // namespace

void add_mlp(OpList& ops, const RankStep& step, const Mlp& mlp) {
  if (const auto* dense = std::get_if<DenseMlp>(&mlp)) {
    add_dense(ops, step, kDenseNames, Part::kMlp, dense->matrices());
  } else if (const auto* moe = std::get_if<MoeMlp>(&mlp)) {
    add_moe(ops, step, *moe);
  }
}

}  // namespace orrery
