// Linear attention: Gated DeltaNet, Kimi Delta Attention and Mamba-2. Projections in, one recurrent
// core, a gated norm, projection out. Heads are divided by tp; groups of Mamba-2 are copied when
// there are fewer than ranks.
#include <algorithm>

#include "orrery/workload/inference/mixer_ops.h"
#include "orrery/workload/inference/rank_products.h"

namespace orrery {
namespace {

constexpr Part kLinearPart = Part::kAttention;

// A call for each prefill group and each group that verifies drafts (token after token, its states
// read and written once), one for all decoding sequences. `core`: any op with `decode`, `batch`,
// `new_tokens` and `dtype`.
template <class Core>
void add_core(OpList& ops, const RankStep& step, Core core, const char* prefill,
              const char* decode) {
  core.dtype = step.precision.activations;
  std::int64_t decoding = 0;
  for (const SequenceGroup& g : step.batch.groups) {
    if (g.decoding() && !g.verify) {
      decoding += g.sequences;
    } else if (g.sequences > 0) {
      core.decode = g.decoding();
      core.batch = g.sequences;
      core.new_tokens = g.new_tokens;
      ops.add(core.decode ? decode : prefill, kLinearPart, core);
    }
  }
  if (decoding == 0) return;
  core.decode = true;
  core.batch = decoding;
  core.new_tokens = 1;
  ops.add(decode, kLinearPart, core);
}

void linear_product(OpList& ops, const RankStep& step, std::string_view name,
                    const RankProduct& p) {
  ops.gemm(name, kLinearPart, step.tokens(), p.outputs, p.inputs, step.precision.mixer_weights());
}

// Norm of the output, scaled by the gate; then the output projection.
void add_output(OpList& ops, const RankStep& step, const RankProduct& out) {
  ops.elementwise("mixer_norm", kLinearPart, Elementwise::Kind::kNorm,
                  {step.tokens(), out.inputs, step.element(), 2, 1});
  ops.quantise("o_quantise", kLinearPart, step.tokens(), out.inputs, step.element(),
               step.precision.mixer_weights());
  linear_product(ops, step, "o_proj", out);
}

void add_input(OpList& ops, const RankStep& step, const RankProduct& in) {
  ops.quantise("in_quantise", kLinearPart, step.tokens(), step.hidden(), step.element(),
               step.precision.mixer_weights());
  linear_product(ops, step, "in_proj", in);
}

// The convolution before the recurrence, as a kernel of its own.
void add_convolution(OpList& ops, const RankStep& step, const Width& channels, int window,
                     LinearAttentionCore::Kind mixer) {
  CausalConvolution convolution;
  convolution.channels = static_cast<std::int64_t>(channels.on_rank(step.tp()));
  convolution.window = window;
  convolution.mixer = mixer;
  add_core(ops, step, convolution, "conv_prefill", "conv_decode");
}

}  // namespace

void add_ops(OpList& ops, const RankStep& step, const GatedDeltaNet& g) {
  ops.depend_on(OpSource::kGroups);
  add_input(ops, step, product_of<"qkv", "z">(step, g));
  const RankProduct gates = product_of<"b", "a">(step, g);
  ops.gemm("gate_proj", kLinearPart, step.tokens(), gates.outputs, gates.inputs, step.plain());
  LinearAttentionCore core;
  core.kind = LinearAttentionCore::Kind::kGatedDeltaNet;
  core.k_heads = g.k_heads / step.tp(), core.k_dim = g.k_dim;
  core.v_heads = g.v_heads / step.tp(), core.v_dim = g.v_dim;
  core.conv = g.conv;
  add_core(ops, step, core, "mixer_prefill", "mixer_decode");
  add_output(ops, step, product_of<"out">(step, g));
}

// One product makes queries, keys, values, beta, the output gate and the first halves of low-rank
// gates (in_proj_qkvgfab in kimi_k3/nvidia/kda.py of vLLM).
void add_ops(OpList& ops, const RankStep& step, const KimiDelta& k) {
  ops.depend_on(OpSource::kGroups);
  add_input(ops, step, product_of<"q", "k", "v", "b", "f_a", "g", "g_a">(step, k));
  linear_product(ops, step, "decay_proj", product_of<"f_b">(step, k));
  if (!k.full_rank_gate) linear_product(ops, step, "gate_proj", product_of<"g_b">(step, k));
  LinearAttentionCore core;
  core.kind = LinearAttentionCore::Kind::kKimiDelta;
  core.k_heads = core.v_heads = k.heads / step.tp();
  core.k_dim = core.v_dim = k.head_dim;
  core.conv = 1;
  add_convolution(ops, step, 3 * k.width(), k.conv, core.kind);
  add_core(ops, step, core, "mixer_prefill", "mixer_decode");
  add_output(ops, step, product_of<"o">(step, k));
}

void add_ops(OpList& ops, const RankStep& step, const Mamba2& m) {
  ops.depend_on(OpSource::kGroups);
  add_input(ops, step, product_of<"in">(step, m));
  LinearAttentionCore core;
  core.kind = LinearAttentionCore::Kind::kMamba2;
  core.k_heads = groups_per_rank(m.groups, step.tp()), core.k_dim = m.state;
  core.v_heads = m.heads / step.tp(), core.v_dim = m.head_dim;
  core.conv = 1;
  core.chunk = m.chunk;
  add_convolution(ops, step, m.channels(), m.conv, core.kind);
  add_core(ops, step, core, "mixer_prefill", "mixer_decode");
  add_output(ops, step, product_of<"out">(step, m));
}

}  // namespace orrery
