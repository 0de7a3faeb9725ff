// Multi-head latent attention, with or without a sparse indexer.
//
// Prefill expands the latent into keys and values of every head (kv_b_proj) and runs plain
// attention on them. Decode stays on the latent: the expansion is absorbed into products before
// (queries) and after (outputs) the core. Sparse attention (sparse_top_k) reads at most top_k keys
// a token; where the context is longer, prefill runs on the latent too, each token gathering its
// own keys (as vLLM's and SGLang's sparse kernels do).
#include <algorithm>
#include <cmath>

#include "orrery/workload/inference/mixer_ops.h"
#include "orrery/workload/inference/rank_products.h"

namespace orrery {
namespace {

constexpr Part kPart = Part::kAttention;

bool sparse(const LatentAttention& a, const SequenceGroup& g) {
  return a.sparse_top_k > 0 && g.past + real(g.new_tokens) > a.sparse_top_k;
}

// Whether the group's queries run on the latent itself.
bool absorbed(const LatentAttention& a, const SequenceGroup& g) {
  return g.decoding() || sparse(a, g);
}

// Mean keys a query of the group reads.
double mean_keys(const SequenceGroup& g, std::int64_t window) {
  if (!g.decoding()) {
    return attended_pairs(g.new_tokens, std::llround(g.past), window, true) / real(g.new_tokens);
  }
  const double keys = g.past + 0.5 * real(g.new_tokens + 1);
  return window > 0 ? std::min(keys, real(window)) : keys;
}

void latent_product(OpList& ops, const RankStep& step, std::string_view name,
                    const RankProduct& p) {
  ops.gemm(name, kPart, step.tokens(), p.outputs, p.inputs, step.precision.mixer_weights());
}

// Every rank holds the whole indexer. Its scores are attention without values; the keys are cached
// in fp8 where the model runs in fp8 (DeepSeek-V3.2).
void add_indexer(OpList& ops, const RankStep& step, const LatentAttention& a,
                 const SparseIndexer& x) {
  const Format format = step.precision.mixer_weights();
  latent_product(ops, step, "indexer_q", product_of<"index_q">(step, a));
  latent_product(ops, step, "indexer_k", product_of<"index_k", "index_w">(step, a));

  const Dtype dtype =
      properties(format).arithmetic == Dtype::kFp8 ? Dtype::kFp8 : step.precision.attention;
  std::int64_t decoding = 0;
  double decode_keys = 0, decode_tokens = 0, pairs = 0;
  for (const SequenceGroup& g : step.batch.groups) {
    if (g.sequences == 0) continue;
    const double tokens = real(g.sequences) * real(g.new_tokens);
    pairs += tokens * mean_keys(g, 0);
    if (g.decoding()) {
      decoding += g.sequences;
      decode_tokens += tokens;
      decode_keys += real(g.sequences) * mean_keys(g, 0);
    } else {
      ops.add("indexer_prefill", kPart,
              PrefillAttention{.batch = g.sequences,
                               .new_tokens = g.new_tokens,
                               .past = std::llround(g.past),
                               .heads = x.heads,
                               .kv_heads = 1,
                               .head_dim = x.head_dim,
                               .value_dim = 0,
                               .dtype = dtype,
                               .kv_dtype = dtype});
    }
  }
  if (decoding > 0) {
    ops.add("indexer_decode", kPart,
            DecodeAttention{.batch = decoding,
                            .context = decode_keys / real(decoding),
                            .heads = x.heads,
                            .kv_heads = 1,
                            .head_dim = x.head_dim,
                            .value_dim = 0,
                            .dtype = dtype,
                            .kv_dtype = dtype,
                            .queries = decode_tokens / real(decoding)});
  }
  // Picks top_k of the fp32 scores of each token.
  const double rows = real(step.tokens() - step.batch.padding);
  ops.add("indexer_topk", kPart,
          Elementwise{Elementwise::Kind::kSoftmax, step.tokens() - step.batch.padding,
                      static_cast<std::int64_t>(std::ceil(pairs / rows)), pairs * Bytes(4),
                      rows * a.sparse_top_k * Bytes(4)});
}

// Products that make queries and the new latents, their norms, rotary embedding and the cache
// write.
void add_inputs(OpList& ops, const RankStep& step, const LatentAttention& a, std::int64_t heads) {
  const Format format = step.precision.mixer_weights();
  const std::int64_t latent = a.latent().total();
  ops.quantise("qkv_quantise", kPart, step.tokens(), step.hidden(), step.element(), format);
  if (a.q_lora_rank > 0) {
    latent_product(ops, step, "q_kv_a_proj", product_of<"q_a", "kv_a">(step, a));
  } else {
    latent_product(ops, step, "q_proj", product_of<"q">(step, a));
    latent_product(ops, step, "kv_a_proj", product_of<"kv_a">(step, a));
  }
  ops.elementwise(
      "latent_norm", kPart, Elementwise::Kind::kNorm,
      {step.tokens(), std::int64_t{a.q_lora_rank} + a.kv_lora_rank, step.element(), 1, 1}, true);
  ops.up_projections(true);
  if (a.q_lora_rank > 0) {
    ops.quantise("q_b_quantise", kPart, step.tokens(), a.q_lora_rank, step.element(), format);
    latent_product(ops, step, "q_b_proj", product_of<"q_b">(step, a));
  }
  const double rows = real(step.tokens());
  const double rotated = real(heads * a.qk_rope_dim);
  const double cached = real(latent);
  ops.add("rope", kPart,
          Elementwise{Elementwise::Kind::kRotary, step.tokens(), heads * a.qk_rope_dim + latent,
                      rows * (rotated + cached) * step.element(),
                      rows * (rotated * step.element() +
                              cached * bytes_per_element(step.precision.kv_cache))},
          true);
  ops.up_projections(false);
}

LatentAttentionCore core(const RankStep& step, const LatentAttention& a, std::int64_t heads) {
  LatentAttentionCore c;
  c.heads = static_cast<int>(heads);
  c.kv_lora_rank = a.kv_lora_rank;
  c.qk_nope_dim = a.qk_nope_dim;
  c.qk_rope_dim = a.qk_rope_dim;
  c.value_dim = a.value_dim;
  c.dtype = step.precision.attention;
  c.kv_dtype = step.precision.kv_cache;
  return c;
}

void add_expanded(OpList& ops, const RankStep& step, const LatentAttention& a, std::int64_t heads) {
  double keys = 0;
  for (const SequenceGroup& g : step.batch.groups) {
    if (absorbed(a, g)) continue;
    keys += real(g.sequences) * (g.past + real(g.new_tokens));
  }
  if (keys == 0) return;
  double cached = 0;
  for (const SequenceGroup& g : step.batch.groups)
    if (!absorbed(a, g)) cached += real(g.sequences) * g.past;
  if (step.cp() > 1 && cached > 0) {
    ops.collective(
        "cp_context_all_gather", Collective::Kind::kAllGather, Collective::Group::kContext,
        step.cp(),
        cached * (a.kv_lora_rank + a.qk_rope_dim) * bytes_per_element(step.precision.kv_cache));
  }
  const RankProduct up = product_of<"kv_b">(step, a);
  ops.up_projections(true);
  ops.gemm("kv_b_proj", kPart, std::llround(keys), up.outputs, up.inputs,
           step.precision.mixer_weights());
  ops.up_projections(false);
  for (const SequenceGroup& g : step.batch.groups) {
    if (absorbed(a, g) || g.sequences == 0) continue;
    LatentAttentionCore c = core(step, a, heads);
    c.batch = g.sequences;
    c.new_tokens = g.new_tokens;
    c.context = g.past + real(g.new_tokens);
    ops.add("attn_prefill", kPart, c);
  }
}

void add_absorbed(OpList& ops, const RankStep& step, const LatentAttention& a, std::int64_t heads) {
  std::int64_t tokens = 0, decoding = 0;
  double keys = 0;
  for (const SequenceGroup& g : step.batch.groups) {
    if (!absorbed(a, g)) continue;
    tokens += g.sequences * g.new_tokens;
    if (!g.decoding() || g.verify) continue;
    decoding += g.sequences;
    keys += real(g.sequences) * mean_keys(g, a.sparse_top_k);
  }
  if (tokens == 0) return;
  // Only decode steps are padded.
  const std::int64_t rows = tokens + step.batch.padding;
  ops.gemm("absorb_q", kPart, rows, a.kv_lora_rank, a.qk_nope_dim, step.plain(), heads);
  LatentAttentionCore c = core(step, a, heads * step.cp());
  c.decode = true;
  const int own = static_cast<int>(heads);
  ops.gather_queries(step, real(rows), own, a.kv_lora_rank + a.qk_rope_dim);
  for (const SequenceGroup& g : step.batch.groups) {
    if (!sparse(a, g) || g.decoding() || g.sequences == 0) continue;
    c.batch = g.sequences * g.new_tokens;
    c.context = mean_keys(g, a.sparse_top_k);
    ops.add("attn_prefill", kPart, c);
  }
  for (const SequenceGroup& g : step.batch.groups) {
    if (!g.decoding() || !g.verify || g.sequences == 0) continue;
    LatentAttentionCore v = c;
    v.batch = g.sequences;
    v.new_tokens = g.new_tokens;
    v.context = keys_of_rank(mean_keys(g, a.sparse_top_k), step.cp());
    ops.add("attn_decode", kPart, v);
  }
  if (decoding > 0) {
    c.batch = decoding;
    c.context = keys_of_rank(keys / real(decoding), step.cp());
    ops.add("attn_decode", kPart, c);
  }
  ops.combine_outputs(step, real(rows), own, a.kv_lora_rank);
  ops.gemm("absorb_v", kPart, rows, a.value_dim, a.kv_lora_rank, step.plain(), heads);
}

}  // namespace

void add_ops(OpList& ops, const RankStep& step, const LatentAttention& a) {
  ops.depend_on(OpSource::kGroups);
  const std::int64_t heads = a.heads / step.tp();
  add_inputs(ops, step, a, heads);
  if (a.indexer) add_indexer(ops, step, a, *a.indexer);
  add_expanded(ops, step, a, heads);
  add_absorbed(ops, step, a, heads);
  const RankProduct out = product_of<"o">(step, a);
  if (a.output_gate) {
    latent_product(ops, step, "attn_gate_proj", product_of<"gate">(step, a));
    ops.elementwise("attn_gate", kPart, Elementwise::Kind::kActivation,
                    {step.tokens(), out.inputs, step.element(), 2, 1});
  }
  ops.quantise("o_quantise", kPart, step.tokens(), out.inputs, step.element(),
               step.precision.mixer_weights());
  latent_product(ops, step, "o_proj", out);
}

}  // namespace orrery
