// Softmax attention: MHA, GQA, MQA, sliding and chunked windows, gated outputs, layers that read
// the cache of another layer.
#include <algorithm>
#include <cmath>

#include "orrery/workload/inference/mixer_ops.h"
#include "orrery/workload/inference/rank_products.h"
#include "orrery/workload/inference/sparse_attention_ops.h"

namespace orrery {
namespace {

constexpr Part kSoftmaxPart = Part::kAttention;

// A head's sizes on one rank and what the calls share.
struct RankHeads {
  int heads, kv_heads;
  PrefillAttention prefill;
  DecodeAttention decode;
};

RankHeads rank_heads(const RankStep& step, const SoftmaxAttention& a) {
  RankHeads r;
  r.heads = a.heads / step.tp();
  r.kv_heads = groups_per_rank(a.kv_heads, step.tp());
  const bool cached = step.model.kind != Kind::kEncoder;
  const Dtype kv = cached ? step.precision.kv_cache : step.precision.activations;
  // Chunks are cut out below; what is left of them has no window.
  const std::int64_t window = a.window_kind == WindowKind::kSliding ? a.window : 0;
  r.prefill = {.heads = r.heads,
               .kv_heads = r.kv_heads,
               .head_dim = a.head_dim,
               .value_dim = a.value_dim,
               .window = window,
               .causal = cached,
               .dtype = step.precision.attention,
               .kv_dtype = kv};
  r.decode = {.heads = r.heads,
              .kv_heads = r.kv_heads,
              .head_dim = a.head_dim,
              .value_dim = a.value_dim,
              .window = window,
              .dtype = step.precision.attention,
              .kv_dtype = kv};
  return r;
}

void add_prefill(OpList& ops, PrefillAttention op, std::int64_t sequences, std::int64_t new_tokens,
                 std::int64_t past) {
  if (sequences == 0 || new_tokens == 0) return;
  op.batch = sequences;
  op.new_tokens = new_tokens;
  op.past = past;
  ops.add("attn_prefill", kSoftmaxPart, op);
}

// Chunks of a chunked window are sequences of their own: the rest of the current one, whole ones, a
// tail.
void add_chunked_prefill(OpList& ops, const PrefillAttention& op, const SequenceGroup& g,
                         std::int64_t chunk) {
  const std::int64_t past = std::llround(g.past) % chunk;
  const std::int64_t head = past == 0 ? 0 : std::min(g.new_tokens, chunk - past);
  const std::int64_t rest = g.new_tokens - head;
  add_prefill(ops, op, g.sequences, head, past);
  add_prefill(ops, op, g.sequences * (rest / chunk), chunk, 0);
  add_prefill(ops, op, g.sequences, rest % chunk, 0);
}

// Keys that one decoded token of `g` reads; of verified drafts the mean.
double decode_keys(const SequenceGroup& g, const SoftmaxAttention& a) {
  const double chunk = a.window;
  const bool chunked = a.window > 0 && a.window_kind == WindowKind::kChunked;
  const double own = 0.5 * real(g.new_tokens + 1);
  return chunked ? std::fmod(g.past, chunk) + own : g.past + own;
}

void add_decode(OpList& ops, const RankStep& step, const SoftmaxAttention& a, DecodeAttention op) {
  std::int64_t sequences = 0, tokens = 0;
  double keys = 0, clipped = 0;
  int groups = 0;
  for (const SequenceGroup& g : step.batch.groups) {
    if (!g.decoding() || g.sequences == 0) continue;
    const double n = real(g.sequences), k = decode_keys(g, a);
    sequences += g.sequences;
    tokens += g.sequences * g.new_tokens;
    keys += n * k;
    clipped += n * (op.window > 0 ? std::min(k, real(op.window)) : k);
    ++groups;
  }
  if (sequences == 0) return;
  op.batch = sequences;
  // With different contexts the mean is that of the keys read, a window applied to each.
  op.context = (groups == 1 ? keys : clipped) / real(sequences);
  op.queries = real(tokens) / real(sequences);
  if (step.cp() == 1) {
    ops.add("attn_decode", kSoftmaxPart, op);
    return;
  }
  const int own = op.heads;
  ops.gather_queries(step, real(tokens), own, a.head_dim);
  op.heads *= step.cp();
  op.context = keys_of_rank(op.context, step.cp());
  ops.add("attn_decode", kSoftmaxPart, op);
  ops.combine_outputs(step, real(tokens), own, a.value_dim);
}

void add_qk_norm(OpList& ops, const RankStep& step, const SoftmaxAttention& a, const RankHeads& r) {
  if (a.qk_norm == QkNorm::kNone) return;
  const std::int64_t width = std::int64_t{r.heads + (a.shares_kv ? 0 : r.kv_heads)} * a.head_dim;
  if (a.qk_norm == QkNorm::kFull && step.tp() > 1) {
    // The variances of queries and keys over all ranks' heads, fp32: a kernel that sums a rank's
    // own, an all-reduce, and one that scales (SGLang's pull request 14416 shows the three; vLLM's
    // minimax_m2.py does the same).
    ops.elementwise("qk_norm_sum", kSoftmaxPart, Elementwise::Kind::kNorm,
                    {step.tokens(), width, step.element(), 1, 0}, true);
    ops.collective("qk_norm_all_reduce", Collective::Kind::kAllReduce, Collective::Group::kTensor,
                   step.tp(), real(step.tokens()) * 2 * Bytes(4));
  }
  // Values that are made from the keys are normalised without rotation, by the same kernel.
  const std::int64_t values =
      a.values_from_keys && !a.shares_kv ? std::int64_t{r.kv_heads} * a.value_dim : 0;
  const double written = real(width + values) / real(width);
  ops.elementwise("qk_norm", kSoftmaxPart, Elementwise::Kind::kNorm,
                  {step.tokens(), width, step.element(), 1, written}, true);
}

// Rotates queries and keys and writes keys and values to the cache; the latter alone without rotary
// embedding.
void add_rope(OpList& ops, const RankStep& step, const SoftmaxAttention& a, const RankHeads& r) {
  const double rows = real(step.tokens());
  const double q = a.rope ? 1.0 * r.heads * a.head_dim : 0;
  const double kv = a.shares_kv ? 0 : 1.0 * r.kv_heads * (a.head_dim + a.value_dim);
  const std::int64_t width = static_cast<std::int64_t>(q + kv);
  if (!a.rope && (a.shares_kv || step.model.kind == Kind::kEncoder)) return;
  ops.add(a.rope ? "rope" : "kv_write", kSoftmaxPart,
          Elementwise{a.rope ? Elementwise::Kind::kRotary : Elementwise::Kind::kCopy, step.tokens(),
                      width, rows * (q + kv) * step.element(),
                      rows * (q * step.element() + kv * bytes_per_element(r.decode.kv_dtype))},
          true);
}

// Ranks that cut key-value heads gather queries, keys and values of all ranks (linear_qkv in
// attention.py of Megatron-Core).
void add_gathered_groups(OpList& ops, const RankStep& step, const SoftmaxAttention& a) {
  if (!step.plan.cuts_groups || a.shares_kv || step.tp() <= a.kv_heads) return;
  const Width made = a.queries() + (a.output_gate ? a.result() : Width{}) + a.keys() +
                     (a.values_from_keys ? Width{} : a.values());
  ops.collective("qkv_all_gather", Collective::Kind::kAllGather, Collective::Group::kTensor,
                 step.tp(), real(step.tokens()) * real(made.total()) * step.element());
}

// The output is scaled by a gate as wide as itself, or by one value for each head.
void add_gate(OpList& ops, const RankStep& step, const SoftmaxAttention& a, const RankHeads& r) {
  const std::int64_t out = std::int64_t{r.heads} * a.value_dim;
  if (a.output_gate) {
    ops.elementwise("attn_gate", kSoftmaxPart, Elementwise::Kind::kActivation,
                    {step.tokens(), out, step.element(), 2, 1});
  }
  if (a.head_gate) {
    ops.elementwise("attn_gate", kSoftmaxPart, Elementwise::Kind::kActivation,
                    {step.tokens(), out, step.element(), 1 + 1.0 / a.value_dim, 1});
  }
}

// The calls of attention alone, the ops that depend on the groups of sequences.
void add_attention_calls(OpList& ops, const RankStep& step, const SoftmaxAttention& a,
                         const RankHeads& r) {
  ops.depend_on(OpSource::kGroups);
  for (const SequenceGroup& g : step.batch.groups) {
    if (g.decoding()) continue;
    if (a.window > 0 && a.window_kind == WindowKind::kChunked) {
      add_chunked_prefill(ops, r.prefill, g, a.window);
    } else {
      // The arithmetic of more heads on fewer keys is that of a rank's own heads on all of them.
      const double queries = real(g.sequences) * real(g.new_tokens);
      if (g.past > 0) ops.gather_queries(step, queries, r.heads, a.head_dim);
      add_prefill(ops, r.prefill, g.sequences, g.new_tokens, std::llround(g.past));
      if (g.past > 0) ops.combine_outputs(step, queries, r.heads, a.value_dim);
    }
  }
  add_decode(ops, step, a, r.decode);
  ops.depend_on(OpSource::kTokens);
}

}  // namespace

void add_ops(OpList& ops, const RankStep& step, const SoftmaxAttention& a) {
  if (a.blocks) return add_block_attention(ops, step, a);
  const RankHeads r = rank_heads(step, a);
  if (ops.groups_alone()) return add_attention_calls(ops, step, a, r);
  const Format format = step.precision.mixer_weights();
  const auto project = [&](std::string_view name, const RankProduct& p) {
    ops.gemm(name, kSoftmaxPart, step.tokens(), p.outputs, p.inputs, format);
  };
  ops.quantise("qkv_quantise", kSoftmaxPart, step.tokens(), step.hidden(), step.element(), format);
  project("qkv_proj", product_of<"q", "k", "v">(step, a));
  add_gathered_groups(ops, step, a);
  if (a.head_gate) project("attn_gate_proj", product_of<"gate">(step, a));
  add_qk_norm(ops, step, a, r);
  add_rope(ops, step, a, r);
  add_attention_calls(ops, step, a, r);
  add_gate(ops, step, a, r);
  const RankProduct out = product_of<"o">(step, a);
  ops.quantise("o_quantise", kSoftmaxPart, step.tokens(), out.inputs, step.element(), format);
  project("o_proj", out);
}

}  // namespace orrery
