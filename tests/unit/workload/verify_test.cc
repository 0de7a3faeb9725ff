// Steps that verify drafts, and the models that draft.
#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/model/catalog/catalog.h"
#include "orrery/workload/plan/draft_model.h"
#include "tests/unit/workload/reading.h"

namespace orrery {
namespace verify_test {

using namespace reading;

Batch verify(std::int64_t sequences, std::int64_t tokens, double past) {
  return Batch{{{sequences, tokens, past, true, true}}};
}

Program of(const char* model, const Batch& batch) {
  const Architecture a = load_model(model);
  return forward_program(a, {}, native_precision(a), batch);
}

TEST(Verify, AttentionReadsEachCachedKeyOnceForAllDrafts) {
  const Program p = of("llama-3-8b", verify(4, 6, 1000));
  EXPECT_EQ(count(p, "attn_prefill"), 0);
  const auto a = first<DecodeAttention>(p, "attn_decode");
  EXPECT_EQ(a.batch, 4);
  EXPECT_EQ(a.queries, 6);
  // Queries see 1001, ..., 1006 keys.
  EXPECT_EQ(a.context, 1003.5);
  EXPECT_EQ(flops(a).value(), 4 * (1001 + 1002 + 1003 + 1004 + 1005 + 1006) * 2.0 * 32 * 256);
  const Bytes keys = 4 * 1003.5 * 8 * 256 * Bytes(2), queries = 4.0 * 6 * 32 * 256 * Bytes(2);
  EXPECT_EQ(bytes(a), keys + queries);
  EXPECT_EQ(first<Gemm>(p, "qkv_proj").m, 24);
  EXPECT_EQ(first<Gemm>(p, "lm_head").m, 24);  // logits of every draft
  EXPECT_EQ(p.sequences, 4);
}

TEST(Verify, OneTokenIsADecode) {
  for (const char* model : {"llama-2-7b", "deepseek-v3", "qwen3-next-80b-a3b"}) {
    const Program a = of(model, verify(7, 1, 500)), b = of(model, decode(7, 500));
    ASSERT_EQ(a.ops.size(), b.ops.size()) << model;
    EXPECT_EQ(total_flops(a), total_flops(b)) << model;
    for (std::size_t i = 0; i < a.ops.size(); ++i)
      EXPECT_EQ(bytes(a.ops[i].op), bytes(b.ops[i].op));
  }
}

TEST(Verify, LatentAttentionStaysOnTheLatent) {
  const Program p = of("deepseek-v3", verify(3, 4, 2000));
  EXPECT_EQ(count(p, "kv_b_proj"), 0);
  const auto a = first<LatentAttentionCore>(p, "attn_decode");
  EXPECT_TRUE(a.decode);
  EXPECT_EQ(a.batch, 3);
  EXPECT_EQ(a.new_tokens, 4);
  EXPECT_EQ(a.context, 2002.5);
}

TEST(Verify, RecurrentStatesAreReadOnce) {
  const Program p = of("qwen3-next-80b-a3b", verify(2, 5, 100));
  const auto a = first<LinearAttentionCore>(p, "mixer_decode");
  EXPECT_EQ(a.batch, 2);
  EXPECT_EQ(a.new_tokens, 5);
  const auto one =
      first<LinearAttentionCore>(of("qwen3-next-80b-a3b", decode(2, 100)), "mixer_decode");
  EXPECT_NEAR(flops(a) / flops(one), 5, 1e-9);
  EXPECT_LT(bytes(a) / bytes(one), 1.2);
}

TEST(Verify, DecodingAndVerifyingSequencesShareACall) {
  const Program p = of("llama-3-8b", Batch{{{2, 1, 999, true}, {2, 3, 998, true, true}}});
  EXPECT_EQ(count(p, "attn_decode"), 32);  // one a layer
  const auto a = first<DecodeAttention>(p, "attn_decode");
  EXPECT_EQ(a.batch, 4);
  EXPECT_EQ(a.queries, 2);
  EXPECT_EQ(a.context, 1000);
}

TEST(DraftModel, AnEagleHeadIsOneLayer) {
  const Architecture target = load_model("llama-2-70b");
  const Program p = forward_program(eagle_head(target), {}, {}, decode(1, 100));
  EXPECT_EQ(p.layers, 1);
  EXPECT_EQ(count(p, "down_proj"), 1);
  EXPECT_EQ(first<Gemm>(p, "down_proj").n, 8192);
  EXPECT_EQ(first<Gemm>(p, "lm_head").n, 32000);
}

TEST(DraftModel, AMedusaHeadIsAnLmHead) {
  const Program p = forward_program(medusa_head(load_model("llama-2-7b")), {}, {}, decode(2, 10));
  EXPECT_EQ(count(p, "qkv_proj"), 0);
  EXPECT_EQ(count(p, "down_proj"), 0);
  EXPECT_EQ(first<Gemm>(p, "lm_head").m, 2);
}

TEST(DraftModel, MtpOnlyWhereTheModelHasIt) {
  const Program p = forward_program(mtp_head(load_model("deepseek-v3")), {}, {}, decode(1, 100));
  EXPECT_EQ(count(p, "moe_experts"), 1);
  EXPECT_THROW(mtp_head(load_model("llama-3-8b")), NoData);
}

}  // namespace verify_test
}  // namespace orrery
