// Compressed attention of DeepSeek-V4 and block-sparse attention of MiniMax-M3, each block as one
// op from the normalised input to the output projection.
//
// Heads, groups of output projections, KV heads and the index heads that serve them are divided by
// tp; KV heads and index heads are copied if there are fewer than ranks. Every rank holds the
// projections to the query latent, the shared KV head, the compressor and the indexer of
// DeepSeek-V4 (deepseek_v4.py and minimax_m3.py of SGLang).
//
// Each prefill group and each group that verifies drafts is a call; all other decoding sequences
// are one at their mean context. In a step that carries both, the projections of each call read the
// weights, as if the calls ran one after the other.
#include "orrery/workload/inference/sparse_attention_ops.h"

#include "orrery/workload/inference/mixer_ops.h"

namespace orrery {
namespace {

using Block = SparseAttentionBlock;

constexpr Part kSparsePart = Part::kAttention;

void add_calls(OpList& ops, const RankStep& step, Block block) {
  block.hidden = step.model.hidden;
  block.format = step.precision.mixer_weights();
  block.kv_dtype = step.precision.kv_cache;
  std::int64_t decoding = 0;
  double past = 0;
  for (const SequenceGroup& g : step.batch.groups) {
    if (g.sequences == 0) continue;
    if (g.decoding() && !g.verify) {
      decoding += g.sequences;
      past += real(g.sequences) * g.past;
      continue;
    }
    Block call = block;
    call.decode = g.decoding();
    call.batch = g.sequences;
    call.new_tokens = g.new_tokens;
    call.past = g.past;
    ops.add(call.decode ? "attn_block_decode" : "attn_block_prefill", kSparsePart, call);
  }
  if (decoding == 0) return;
  block.decode = true;
  block.batch = decoding;
  block.past = past / real(decoding);
  block.padding = step.batch.padding;  // only decode steps are padded
  ops.add("attn_block_decode", kSparsePart, block);
}

}  // namespace

void add_ops(OpList& ops, const RankStep& step, const CompressedAttention& a) {
  ops.depend_on(OpSource::kGroups);
  Block b;
  b.kind = a.compress == 0 ? Block::Kind::kWindow
           : a.top_k > 0   ? Block::Kind::kCsa
                           : Block::Kind::kHca;
  b.heads = a.heads / step.tp();
  b.q_rank = a.q_lora_rank;
  b.head_dim = b.value_dim = b.entry = a.head_dim;
  b.rope_dim = a.rope_dim;
  b.top_k = a.top_k;
  b.compress = a.compress;
  b.overlapping = a.overlapping;
  b.window = a.window;
  b.index_heads = a.indexer ? a.indexer->heads : 0;
  b.index_dim = a.indexer ? a.indexer->head_dim : 0;
  b.o_groups = a.o_groups / step.tp();
  b.o_rank = a.o_lora_rank;
  add_calls(ops, step, b);
}

void add_block_attention(OpList& ops, const RankStep& step, const SoftmaxAttention& a) {
  ops.depend_on(OpSource::kGroups);
  Block b;
  b.kind = Block::Kind::kMsa;
  b.heads = a.heads / step.tp();
  b.kv_heads = groups_per_rank(a.kv_heads, step.tp());
  b.q_rank = 0;
  b.head_dim = a.head_dim;
  b.value_dim = a.value_dim;
  b.entry = b.kv_heads * (a.head_dim + a.value_dim);
  b.block = a.blocks->block;
  b.top_k = a.blocks->block * a.blocks->top_blocks;
  b.index_heads = groups_per_rank(a.blocks->index_heads, step.tp());
  b.index_dim = a.blocks->index_dim;
  add_calls(ops, step, b);
  if (!a.output_gate) return;
  const std::int64_t out = std::int64_t{b.heads} * a.value_dim;
  ops.gemm("gate_proj", kSparsePart, step.tokens(), out, step.hidden(),
           step.precision.mixer_weights());
  ops.elementwise("attn_gate", kSparsePart, Elementwise::Kind::kActivation,
                  {step.tokens(), out, step.element(), 2, 1});
}

}  // namespace orrery
