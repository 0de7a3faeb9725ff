#include "orrery/workload/inference/mixer_ops.h"

#include <gtest/gtest.h>

#include "orrery/model/catalog/catalog.h"
#include "tests/unit/workload/reading.h"

namespace orrery {
namespace mixer_ops_test {

using namespace reading;

// One layer of `mixer` and no MLP.
Architecture of_mixer(const Mixer& mixer) {
  Architecture model;
  model.id = "test";
  model.hidden = 1024;
  model.vocab = 1000;
  LayerSpec layer;
  layer.mixer = mixer;
  layer.norms = 1;
  model.layers.append(layer);
  return model;
}

SoftmaxAttention gqa(int heads, int kv_heads) {
  SoftmaxAttention a;
  a.heads = heads, a.kv_heads = kv_heads, a.head_dim = a.value_dim = 64;
  return a;
}

TEST(SoftmaxOps, KeyValueHeadsAreCopiedToEveryRank) {
  const Program p = forward_program(of_mixer(gqa(16, 2)), {8, 1, 1, 1}, {}, decode(3, 9));
  EXPECT_EQ(first<Gemm>(p, "qkv_proj").n, 2 * 64 + 2 * 64);
  EXPECT_EQ(first<DecodeAttention>(p, "attn_decode").kv_heads, 1);
}

TEST(SoftmaxOps, SlidingWindowsAreMarkedOnTheCall) {
  SoftmaxAttention a = gqa(16, 4);
  a.window = 128;
  const Program p = forward_program(of_mixer(a), {}, {}, prefill(1, 1000));
  EXPECT_EQ(first<PrefillAttention>(p, "attn_prefill").window, 128);
  const Program one = forward_program(of_mixer(a), {}, {}, decode(2, 999));
  EXPECT_EQ(first<DecodeAttention>(one, "attn_decode").context, 1000);
  EXPECT_EQ(first<DecodeAttention>(one, "attn_decode").window, 128);
  // Each of several contexts is clipped to the window: (128 + 51) / 2.
  const Program two =
      forward_program(of_mixer(a), {}, {}, Batch{{{1, 1, 999, true}, {1, 1, 50, true}}});
  EXPECT_EQ(first<DecodeAttention>(two, "attn_decode").context, 89.5);
}

TEST(SoftmaxOps, ChunksAttendToThemselvesOnly) {
  SoftmaxAttention a = gqa(16, 4);
  a.window = 100;
  a.window_kind = WindowKind::kChunked;
  // 330 new tokens after 130: the rest of the second chunk, two whole ones, a tail of 60.
  const auto calls =
      all(forward_program(of_mixer(a), {}, {}, prefill(2, 330, 130)), "attn_prefill");
  ASSERT_EQ(calls.size(), 3u);
  const auto head = std::get<PrefillAttention>(calls[0].op),
             whole = std::get<PrefillAttention>(calls[1].op),
             tail = std::get<PrefillAttention>(calls[2].op);
  EXPECT_EQ(head.past, 30);
  EXPECT_EQ(head.new_tokens, 70);
  EXPECT_EQ(whole.batch, 2 * 2);
  EXPECT_EQ(whole.new_tokens, 100);
  EXPECT_EQ(tail.new_tokens, 60);
  EXPECT_EQ(tail.window, 0);
  const Program d = forward_program(of_mixer(a), {}, {}, decode(1, 250));
  EXPECT_EQ(first<DecodeAttention>(d, "attn_decode").context, 51);
  EXPECT_EQ(first<DecodeAttention>(d, "attn_decode").window, 0);
}

TEST(SoftmaxOps, GatesNormsAndRotaryAreOpsOfTheirOwn) {
  SoftmaxAttention a = gqa(16, 4);
  a.output_gate = true;
  a.qk_norm = QkNorm::kFull;
  a.rope = false;
  const Program p = forward_program(of_mixer(a), {2, 1, 1, 1}, {}, decode(5, 9));
  EXPECT_EQ(first<Gemm>(p, "qkv_proj").n, (16 + 2 * 4 + 16) * 64 / 2);
  EXPECT_EQ(first<Elementwise>(p, "qk_norm").width, (8 + 2) * 64);
  EXPECT_EQ(first<Elementwise>(p, "qk_norm_sum").read, Bytes(5 * (8 + 2) * 64 * 2));
  EXPECT_EQ(first<Collective>(p, "qk_norm_all_reduce").bytes, Bytes(5 * 2 * 4));
  EXPECT_EQ(count(p, "rope"), 0);
  EXPECT_EQ(first<Elementwise>(p, "kv_write").read, Bytes(5 * 2 * 2 * 64 * 2));
  EXPECT_EQ(first<Elementwise>(p, "attn_gate").read, Bytes(5 * 8 * 64 * 2 * 2));
}

TEST(SoftmaxOps, TheCacheIsWrittenInItsOwnFormat) {
  Precision precision;
  precision.kv_cache = Dtype::kFp8;
  const Program p = forward_program(of_mixer(gqa(16, 4)), {}, precision, decode(5, 9));
  EXPECT_EQ(first<Elementwise>(p, "rope").written, Bytes(5 * 64 * (16 * 2 + 8 * 1)));
  EXPECT_EQ(first<DecodeAttention>(p, "attn_decode").kv_dtype, Dtype::kFp8);
}

LatentAttention mla() {
  LatentAttention a;
  a.heads = 128, a.q_lora_rank = 1536, a.kv_lora_rank = 512;
  a.qk_nope_dim = 128, a.qk_rope_dim = 64, a.value_dim = 128;
  return a;
}

TEST(LatentOps, DecodeAbsorbsTheExpansion) {
  const Program p = forward_program(of_mixer(mla()), {8, 1, 1, 1}, {}, decode(32, 999));
  EXPECT_EQ(first<Gemm>(p, "q_kv_a_proj").n, 1536 + 512 + 64);  // whole on every rank
  EXPECT_EQ(first<Gemm>(p, "q_b_proj").n, 16 * 192);
  EXPECT_EQ(count(p, "kv_b_proj"), 0);
  const auto q = first<Gemm>(p, "absorb_q"), v = first<Gemm>(p, "absorb_v");
  EXPECT_EQ(q.batch, 16);
  EXPECT_EQ(q.m, 32);
  EXPECT_EQ(q.k, 128);
  EXPECT_EQ(q.n, 512);
  EXPECT_TRUE(q.weight);
  EXPECT_EQ(v.k, 512);
  EXPECT_EQ(v.n, 128);
  const auto core = first<LatentAttentionCore>(p, "attn_decode");
  EXPECT_TRUE(core.decode);
  EXPECT_EQ(core.batch, 32);
  EXPECT_EQ(core.context, 1000);
  EXPECT_EQ(core.heads, 16);
  EXPECT_EQ(first<Gemm>(p, "o_proj").k, 16 * 128);
}

TEST(LatentOps, PrefillExpandsCachedTokensAgain) {
  const Program p = forward_program(of_mixer(mla()), {8, 1, 1, 1}, {}, prefill(2, 100, 300));
  EXPECT_EQ(first<Gemm>(p, "kv_b_proj").m, 2 * 400);
  EXPECT_EQ(first<Gemm>(p, "kv_b_proj").n, 16 * 256);
  EXPECT_EQ(count(p, "absorb_q"), 0);
  const auto core = first<LatentAttentionCore>(p, "attn_prefill");
  EXPECT_FALSE(core.decode);
  EXPECT_EQ(core.new_tokens, 100);
  EXPECT_EQ(core.context, 400);
}

TEST(LatentOps, WithoutALowRankQueryThereAreTwoProducts) {
  LatentAttention a = mla();
  a.q_lora_rank = 0;
  const Program p = forward_program(of_mixer(a), {4, 1, 1, 1}, {}, decode(1, 9));
  EXPECT_EQ(first<Gemm>(p, "q_proj").n, 32 * 192);
  EXPECT_EQ(first<Gemm>(p, "kv_a_proj").n, 576);
  EXPECT_EQ(count(p, "q_kv_a_proj"), 0);
}

TEST(LatentOps, SparseAttentionReadsAtMostTopK) {
  LatentAttention a = mla();
  a.sparse_top_k = 2048;
  a.indexer = SparseIndexer{64, 128};
  Precision precision;
  precision.weights = Format::kFp8Block;
  const Architecture model = of_mixer(a);
  const Program p =
      forward_program(model, {}, precision, Batch{{{3, 1, 9999, true}, {1, 1, 99, true}}});
  EXPECT_EQ(first<LatentAttentionCore>(p, "attn_decode").context, (3 * 2048 + 100) / 4.0);
  const auto scores = first<DecodeAttention>(p, "indexer_decode");  // looks at every key
  EXPECT_EQ(scores.context, (3 * 10000 + 100) / 4.0);
  EXPECT_EQ(scores.heads, 64);
  EXPECT_EQ(scores.value_dim, 0);
  EXPECT_EQ(scores.kv_dtype, Dtype::kFp8);
  EXPECT_EQ(first<Elementwise>(p, "indexer_topk").read, Bytes(4.0 * (30000 + 100)));
  EXPECT_EQ(first<Gemm>(p, "indexer_q").k, 1536);

  // A prompt within top_k is dense; a longer one runs on the latent, token by token.
  EXPECT_EQ(count(forward_program(model, {}, precision, prefill(1, 2048)), "kv_b_proj"), 1);
  const Program longer = forward_program(model, {}, precision, prefill(1, 3000));
  EXPECT_EQ(count(longer, "kv_b_proj"), 0);
  const auto core = first<LatentAttentionCore>(longer, "attn_prefill");
  EXPECT_TRUE(core.decode);
  EXPECT_EQ(core.batch, 3000);
  EXPECT_DOUBLE_EQ(core.context * 3000, 2048.0 * 2049 / 2 + (3000.0 - 2048) * 2048);
}

TEST(LinearOps, GatedDeltaNetDividesItsHeads) {
  const Program p =
      forward_program(load_model("qwen3-next-80b-a3b"), {4, 1, 1, 1}, {}, decode(5, 1000));
  // 16 key heads and 32 value heads of 128 on 4 ranks.
  EXPECT_EQ(first<Gemm>(p, "in_proj").n, 2 * 4 * 128 + 2 * 8 * 128);
  EXPECT_EQ(count(p, "in_proj"), 36);
  EXPECT_EQ(first<Gemm>(p, "gate_proj").n, 16);
  const auto core = first<LinearAttentionCore>(p, "mixer_decode");
  EXPECT_EQ(core.batch, 5);
  EXPECT_EQ(core.k_heads, 4);
  EXPECT_EQ(core.v_heads, 8);
  EXPECT_EQ(count(p, "attn_decode"), 12);
  EXPECT_EQ(count(p, "tp_all_reduce"), 96);
}

TEST(LinearOps, Mamba2CopiesGroupsWhenThereAreFew) {
  const Program p =
      forward_program(load_model("nemotron-nano-9b"), {8, 1, 1, 1}, {}, prefill(2, 50));
  // 128 heads of 80, state 128, 8 groups on 8 ranks.
  EXPECT_EQ(first<Gemm>(p, "in_proj").n, 2 * 16 * 80 + 2 * 128 + 16);
  const auto core = first<LinearAttentionCore>(p, "mixer_prefill");
  EXPECT_EQ(core.kind, LinearAttentionCore::Kind::kMamba2);
  EXPECT_EQ(core.k_heads, 1);
  EXPECT_EQ(core.k_dim, 128);
  EXPECT_EQ(core.v_heads, 16);
  EXPECT_EQ(core.v_dim, 80);
  EXPECT_EQ(core.new_tokens, 50);
  EXPECT_EQ(core.conv, 1);
  const auto conv = first<CausalConvolution>(p, "conv_prefill");
  EXPECT_EQ(conv.channels, 16 * 80 + 2 * 128);
  EXPECT_EQ(conv.window, 4);
  EXPECT_EQ(conv.mixer, LinearAttentionCore::Kind::kMamba2);
  EXPECT_EQ(count(p, "conv_prefill"), count(p, "mixer_prefill"));
  EXPECT_EQ(count(p, "add_norm"), 56);  // one block a layer, one norm each
  EXPECT_EQ(count(p, "tp_all_reduce"), 56);
}

}  // namespace mixer_ops_test
}  // namespace orrery
