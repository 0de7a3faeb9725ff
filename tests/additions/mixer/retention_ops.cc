// Retention: a product in, the recurrence, a gated norm, a product out. The recurrence takes two
// passes over the state, as that of Mamba-2 does, and is timed as it.
#include "orrery/workload/inference/mixer_ops.h"
#include "orrery/workload/inference/rank_products.h"

namespace orrery {

void add_ops(OpList& ops, const RankStep& step, const Retention& r) {
  constexpr Part kPart = Part::kAttention;
  ops.depend_on(OpSource::kGroups);
  const Format format = step.precision.mixer_weights();
  const RankProduct in = product_of<"q", "k", "v", "g">(step, r);
  ops.gemm("in_proj", kPart, step.tokens(), in.outputs, in.inputs, format);
  LinearAttentionCore core;
  core.kind = LinearAttentionCore::Kind::kMamba2;
  core.k_heads = core.v_heads = r.heads / step.tp();
  core.k_dim = r.key_dim, core.v_dim = r.value_dim;
  core.conv = 1;
  core.dtype = step.precision.activations;
  for (const SequenceGroup& g : step.batch.groups) {
    if (g.sequences == 0) continue;
    core.decode = g.decoding();
    core.batch = g.sequences;
    core.new_tokens = g.new_tokens;
    ops.add(core.decode ? "mixer_decode" : "mixer_prefill", kPart, core);
  }
  const RankProduct out = product_of<"o">(step, r);
  ops.elementwise("mixer_norm", kPart, Elementwise::Kind::kNorm,
                  {step.tokens(), out.inputs, step.element(), 2, 1});
  ops.gemm("o_proj", kPart, step.tokens(), out.outputs, out.inputs, format);
}

}  // namespace orrery
