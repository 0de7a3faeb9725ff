// Linear attention: Gated DeltaNet, Kimi Delta Attention and Mamba-2. Projections in, one recurrent
// core, a gated norm, projection out. Heads are divided by tp; groups of Mamba-2 are copied when
// there are fewer than ranks.
#include <algorithm>

#include "orrery/workload/inference/mixer_ops.h"

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

// Norm of the output, scaled by the gate; then the output projection.
void add_output(OpList& ops, const RankStep& step, std::int64_t width) {
  ops.elementwise("mixer_norm", kLinearPart, Elementwise::Kind::kNorm,
                  {step.tokens(), width, step.element(), 2, 1});
  ops.quantise("o_quantise", kLinearPart, step.tokens(), width, step.element(),
               step.precision.mixer_weights());
  ops.gemm("o_proj", kLinearPart, step.tokens(), step.hidden(), width,
           step.precision.mixer_weights());
}

void add_input(OpList& ops, const RankStep& step, std::int64_t width) {
  const Format format = step.precision.mixer_weights();
  ops.quantise("in_quantise", kLinearPart, step.tokens(), step.hidden(), step.element(), format);
  ops.gemm("in_proj", kLinearPart, step.tokens(), width, step.hidden(), format);
}

}  // namespace

void add_gated_delta_net(OpList& ops, const RankStep& step, const GatedDeltaNet& g) {
  const int k_heads = g.k_heads / step.tp(), v_heads = g.v_heads / step.tp();
  const std::int64_t k = std::int64_t{k_heads} * g.k_dim, v = std::int64_t{v_heads} * g.v_dim;
  add_input(ops, step, 2 * k + 2 * v);
  ops.gemm("gate_proj", kLinearPart, step.tokens(), std::int64_t{2} * v_heads, step.hidden(),
           step.plain());
  LinearAttentionCore core;
  core.kind = LinearAttentionCore::Kind::kGatedDeltaNet;
  core.k_heads = k_heads, core.k_dim = g.k_dim;
  core.v_heads = v_heads, core.v_dim = g.v_dim;
  core.conv = g.conv;
  add_core(ops, step, core, "mixer_prefill", "mixer_decode");
  add_output(ops, step, v);
}

// One product makes queries, keys, values, beta, the output gate and the first halves of low-rank
// gates (in_proj_qkvgfab in kimi_k3/nvidia/kda.py of vLLM). Those halves are whole on every rank,
// since all heads share them.
void add_kimi_delta(OpList& ops, const RankStep& step, const KimiDelta& k) {
  const int heads = k.heads / step.tp();
  const std::int64_t width = std::int64_t{heads} * k.head_dim;
  const std::int64_t low_ranks = k.full_rank_gate ? 1 : 2;
  add_input(ops, step, (k.full_rank_gate ? 4 : 3) * width + low_ranks * k.head_dim + heads);
  const Format format = step.precision.mixer_weights();
  ops.gemm("decay_proj", kLinearPart, step.tokens(), width, k.head_dim, format);
  if (!k.full_rank_gate) {
    ops.gemm("gate_proj", kLinearPart, step.tokens(), width, k.head_dim, format);
  }
  LinearAttentionCore core;
  core.kind = LinearAttentionCore::Kind::kKimiDelta;
  core.k_heads = core.v_heads = heads;
  core.k_dim = core.v_dim = k.head_dim;
  core.conv = 1;
  CausalConvolution convolution;
  convolution.channels = 3 * width;
  convolution.window = k.conv;
  convolution.mixer = core.kind;
  add_core(ops, step, convolution, "conv_prefill", "conv_decode");
  add_core(ops, step, core, "mixer_prefill", "mixer_decode");
  add_output(ops, step, width);
}

void add_mamba2(OpList& ops, const RankStep& step, const Mamba2& m) {
  const int heads = m.heads / step.tp(), groups = std::max(1, m.groups / step.tp());
  const std::int64_t inner = std::int64_t{heads} * m.head_dim;
  add_input(ops, step, 2 * inner + std::int64_t{2} * groups * m.state + heads);
  LinearAttentionCore core;
  core.kind = LinearAttentionCore::Kind::kMamba2;
  core.k_heads = groups, core.k_dim = m.state;
  core.v_heads = heads, core.v_dim = m.head_dim;
  core.conv = 1;
  core.chunk = m.chunk;
  CausalConvolution convolution;
  convolution.channels = inner + std::int64_t{2} * groups * m.state;
  convolution.window = m.conv;
  convolution.mixer = core.kind;
  add_core(ops, step, convolution, "conv_prefill", "conv_decode");
  add_core(ops, step, core, "mixer_prefill", "mixer_decode");
  add_output(ops, step, inner);
}

}  // namespace orrery
