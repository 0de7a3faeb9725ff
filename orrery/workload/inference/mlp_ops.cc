#include "orrery/workload/inference/mlp_ops.h"

#include <algorithm>

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
               int intermediate, bool gated) {
  const std::int64_t inner = intermediate / step.tp();
  const Format format = step.precision.weights;
  ops.quantise(names.input_quantise, part, step.tokens(), step.hidden(), step.element(), format);
  ops.gemm(gated ? names.gate_up : names.up, part, step.tokens(), (gated ? 2 : 1) * inner,
           step.hidden(), format);
  ops.elementwise(names.activation, part, Elementwise::Kind::kActivation,
                  {step.tokens(), inner, step.element(), gated ? 2.0 : 1.0, 1});
  ops.quantise(names.down_quantise, part, step.tokens(), inner, step.element(), format);
  ops.gemm(names.down, part, step.tokens(), step.hidden(), inner, format);
}

void add_shared_experts(OpList& ops, const RankStep& step, const MoeMlp& m) {
  if (m.shared_intermediate == 0) return;
  ops.shared_experts(true);
  add_dense(ops, step, kSharedNames, Part::kMoe, m.shared_intermediate, m.gated);
  if (m.shared_gate) {
    ops.gemm("shared_gate", Part::kMoe, step.tokens(), 1, step.hidden(), step.plain());
  }
  ops.shared_experts(false);
  ops.elementwise("shared_add", Part::kMoe, Elementwise::Kind::kAdd,
                  {step.tokens(), step.hidden(), step.element(), 2, 1}, true);
}

// One leg of the exchange of tokens between dp groups and experts; `element` is what a value takes
// on the wire.
void add_exchange(OpList& ops, const RankStep& step, const MoeMlp& m, bool dispatch,
                  Bytes element) {
  const ParallelPlan& plan = step.plan;
  if (plan.dp == 1) return;
  const double hidden = real(m.latent > 0 ? m.latent : step.hidden());
  const std::string_view name = dispatch ? "moe_dispatch" : "moe_combine";
  if (plan.ep >= plan.dp) {
    // The moe_tp ranks of an expert group need the same tokens: each is sent moe_tp times, by tp
    // ranks.
    const double share = 1.0 * plan.moe_tp() / plan.tp;
    const double sent = real(step.tokens()) * share * std::min(m.top_k, plan.ep);
    ops.collective(name, Collective::Kind::kAllToAll, Collective::Group::kExpert, plan.ep,
                   sent * hidden * element);
  } else {
    const Bytes all = real(step.batch.all_tokens) * hidden * element;
    ops.collective(name, dispatch ? Collective::Kind::kAllGather : Collective::Kind::kReduceScatter,
                   Collective::Group::kData, plan.dp, all);
  }
}

// Experts of a latent: the projection to it before the tokens are sent; the sum over the
// tensor-parallel ranks, the norm and the projection back, which every rank does whole, after they
// return (LatentMoERunner of vLLM). The projections stay in 16 bits (Precision::weights does not
// apply to them), as in the checkpoints of Nemotron 3 and Kimi-K3.
void add_latent_input(OpList& ops, const RankStep& step, const MoeMlp& m) {
  ops.gemm("moe_latent_down", Part::kMoe, step.tokens(), m.latent, step.hidden(), step.plain());
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
  ops.gemm("moe_latent_up", Part::kMoe, step.tokens(), step.hidden(), m.latent, step.plain());
}

void add_moe(OpList& ops, const RankStep& step, const MoeMlp& m) {
  const Format format = step.precision.experts;
  if (m.router_scales) {
    // A norm without weights and a learned scale of the router's input alone.
    ops.elementwise("router_norm", Part::kMoe, Elementwise::Kind::kNorm,
                    {step.tokens(), step.hidden(), step.element(), 1, 1});
  }
  ops.gemm("router", Part::kMoe, step.tokens(), m.experts, step.hidden(),
           m.router_fp32 ? step.precision.fp32_products : step.plain());
  if (m.latent > 0) add_latent_input(ops, step, m);
  const FormatProperties& f = properties(format);
  add_exchange(ops, step, m, true, f.quantises_activation ? f.activation : step.element());
  ops.add("moe_experts", Part::kMoe,
          MoeExperts{step.batch.all_tokens, m.latent > 0 ? m.latent : step.model.hidden,
                     m.intermediate, m.experts, m.top_k, step.plan.moe_tp(), step.plan.ep, m.gated,
                     step.expert_skew, format});
  add_exchange(ops, step, m, false, step.element());
  if (m.latent > 0) add_latent_output(ops, step, m);
  add_shared_experts(ops, step, m);
}

}  // namespace

void add_mlp(OpList& ops, const RankStep& step, const Mlp& mlp) {
  if (const auto* dense = std::get_if<DenseMlp>(&mlp)) {
    add_dense(ops, step, kDenseNames, Part::kMlp, dense->intermediate, dense->gated);
  } else if (const auto* moe = std::get_if<MoeMlp>(&mlp)) {
    add_moe(ops, step, *moe);
  }
}

}  // namespace orrery
