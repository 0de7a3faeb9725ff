#include "orrery/workload/ops/op.h"

#include <gtest/gtest.h>

namespace orrery {
namespace op_test {

TEST(Ops, GemmCountsMultiplyAddsTwiceAndReadsEveryOperandOnce) {
  Gemm g{128, 6144, 4096, 1, Format::kBf16, true};
  EXPECT_DOUBLE_EQ(flops(g).value(), 2.0 * 128 * 6144 * 4096);
  EXPECT_DOUBLE_EQ(bytes(g).value(), 2.0 * (128 * 4096 + 4096 * 6144 + 128 * 6144));
  g.batch = 3;
  EXPECT_DOUBLE_EQ(flops(g).value(), 3 * 2.0 * 128 * 6144 * 4096);
  EXPECT_DOUBLE_EQ(bytes(g).value(), 3 * 2.0 * (128 * 4096 + 4096 * 6144 + 128 * 6144));
  EXPECT_EQ(arithmetic(g), Dtype::kBf16);
}

TEST(Ops, GemmStoresOperandsAsItsFormatSays) {
  const Gemm block{64, 512, 1024, 1, Format::kFp8Block, true};
  EXPECT_DOUBLE_EQ(bytes(block).value(),
                   64 * 1024 * (1 + 4.0 / 128) + 512 * 1024 * (1 + 4.0 / 16384) + 64 * 512 * 2);
  const Gemm awq{1, 512, 1024, 1, Format::kInt4Weight, true};
  EXPECT_DOUBLE_EQ(bytes(awq).value(), 1024 * 2 + 512 * 1024 * (0.5 + 2.5 / 128) + 512 * 2);
  EXPECT_EQ(arithmetic(awq), Dtype::kFp16);
  const Gemm fp32{2, 3, 4, 1, Format::kFp32, true};
  EXPECT_DOUBLE_EQ(bytes(fp32).value(), 4 * (8 + 12 + 6));
  // Without a weight both operands are activations.
  const Gemm bmm{16, 32, 64, 1, Format::kFp8Block, false};
  EXPECT_DOUBLE_EQ(bytes(bmm).value(), (16 * 64 + 32 * 64) * 1.03125 + 16 * 32 * 2);
}

TEST(Ops, PrefillAttentionSeesTheCausalHalf) {
  // 4 queries over 4 keys: 10 pairs; 2 heads, 2 sequences; q.k and p.v each 64 wide.
  PrefillAttention a{2, 4, 0, 2, 1, 64, 64, 0, true, Dtype::kBf16, Dtype::kBf16};
  EXPECT_DOUBLE_EQ(flops(a).value(), 2.0 * 2 * 2 * 10 * 128);
  EXPECT_DOUBLE_EQ(bytes(a).value(), 2 * 2.0 * (4 * 2 * 128 + 4 * 1 * 128));
  a.causal = false;
  EXPECT_DOUBLE_EQ(flops(a).value(), 2.0 * 2 * 2 * 16 * 128);
  // 10 past keys, window 3: each query sees 3; the first reads 2 past keys.
  a.causal = true, a.past = 10, a.window = 3;
  EXPECT_DOUBLE_EQ(flops(a).value(), 2.0 * 2 * 2 * 12 * 128);
  EXPECT_DOUBLE_EQ(bytes(a).value(), 2 * 2.0 * (4 * 2 * 128 + 6 * 1 * 128));
}

TEST(Ops, DecodeAttentionReadsTheCacheInItsOwnFormat) {
  DecodeAttention a{8, 1000.5, 32, 8, 128, 128, 0, Dtype::kBf16, Dtype::kFp8};
  EXPECT_DOUBLE_EQ(flops(a).value(), 2.0 * 8 * 32 * 1000.5 * 256);
  EXPECT_DOUBLE_EQ(bytes(a).value(), 8 * (32 * 256 * 2.0 + 1000.5 * 8 * 256 * 1.0));
  a.window = 512;
  EXPECT_DOUBLE_EQ(flops(a).value(), 2.0 * 8 * 32 * 512 * 256);
}

TEST(Ops, LatentAttentionIsExpandedInPrefillAndAbsorbedInDecode) {
  LatentAttentionCore a;
  a.heads = 16;
  a.batch = 1, a.new_tokens = 10, a.context = 14;
  // Pairs: 10 * 4 past + 55. Keys 128 + 64 wide, values 128.
  EXPECT_DOUBLE_EQ(flops(a).value(), 2.0 * 16 * 95 * (192 + 128));
  EXPECT_DOUBLE_EQ(bytes(a).value(), 2.0 * (10 * 16 * (192 + 128) + 14 * (16 * 256 + 64)));
  a.decode = true;
  a.batch = 4, a.new_tokens = 1, a.context = 1000, a.kv_dtype = Dtype::kFp8;
  EXPECT_DOUBLE_EQ(flops(a).value(), 2.0 * 4 * 16 * 1000 * (576 + 512));
  EXPECT_DOUBLE_EQ(bytes(a).value(), 4 * (16 * (576 + 512) * 2.0 + 1000 * 576 * 1.0));
}

TEST(Ops, ExpertsOfABalancedLayerShareTheTokens) {
  // 4096 tokens on 8 experts of which each takes 2: all are active, half of them here.
  const MoeExperts m{4096, 4096, 14336, 8, 2, 2, 2, true, 0, Format::kBf16};
  const double slots = 4096.0 * 2 / 2;
  EXPECT_DOUBLE_EQ(flops(m).value(), 2 * slots * 3 * 4096 * 7168);
  const double weights = 4.0 * 3 * 4096 * 7168 * 2;
  const double activations = 2 * (2 * 4096.0 * 4096 + 2 * slots * 7168);
  EXPECT_NEAR(bytes(m).value(), weights + activations, 1e-9 * weights);
}

TEST(Ops, FewTokensReadFewExperts) {
  MoeExperts one{1, 2048, 768, 128, 8, 1, 1, true, 0, Format::kBf16};
  const double expert = 3.0 * 2048 * 768 * 2;
  EXPECT_NEAR(bytes(one).value(), 8 * expert, 0.01 * expert * 8);
  one.gated = false;
  EXPECT_NEAR(bytes(one).value(), 8 * expert * 2 / 3, 0.01 * expert * 8);
}

TEST(Ops, RecurrentCoresReadAndWriteTheirStateOnceAToken) {
  LinearAttentionCore g;
  g.decode = true, g.batch = 3;
  g.k_heads = 2, g.k_dim = 128, g.v_heads = 4, g.v_dim = 64, g.conv = 4;
  const double state = 4 * 128 * 64, channels = 2 * 2 * 128 + 4 * 64;
  EXPECT_DOUBLE_EQ(flops(g).value(), 3 * 2 * (3 * state + 4 * channels));
  EXPECT_DOUBLE_EQ(bytes(g).value(),
                   3 * (2 * (state * 4 + 3 * channels * 2) + (channels + 256) * 2));
  g.decode = false, g.new_tokens = 100;
  EXPECT_DOUBLE_EQ(bytes(g).value(),
                   3 * (state * 4 + 3 * channels * 2 + 100 * (channels + 256) * 2));
  g.kind = LinearAttentionCore::Kind::kMamba2;
  EXPECT_DOUBLE_EQ(flops(g).value(), 300 * 2 * (2 * state + 4 * channels));
  g.conv = 1;  // no convolution, no window of inputs kept
  EXPECT_DOUBLE_EQ(flops(g).value(), 300 * 2 * 2 * state);
  EXPECT_DOUBLE_EQ(bytes(g).value(), 3 * (state * 4 + 100 * (channels + 256) * 2));
}

TEST(Ops, OthersMoveBytesAndCountNoFlops) {
  const Elementwise e{Elementwise::Kind::kNorm, 10, 20, Bytes(400), Bytes(200)};
  EXPECT_EQ(flops(e), Flops(0));
  EXPECT_EQ(bytes(e), Bytes(600));
  EXPECT_EQ(bytes(Embedding{10, 4096, Dtype::kBf16}), Bytes(10 * 4096 * 2 * 2));
  const Collective c{Collective::Kind::kAllReduce, Collective::Group::kTensor, 8, Bytes(1e6)};
  EXPECT_EQ(bytes(c), Bytes(0));
  EXPECT_EQ(flops(c), Flops(0));
}

TEST(Ops, AttendedPairs) {
  EXPECT_DOUBLE_EQ(attended_pairs(4, 0, 0, true), 10);
  EXPECT_DOUBLE_EQ(attended_pairs(4, 6, 0, true), 7 + 8 + 9 + 10);
  EXPECT_DOUBLE_EQ(attended_pairs(4, 6, 8, true), 7 + 8 + 8 + 8);
  EXPECT_DOUBLE_EQ(attended_pairs(4, 100, 8, true), 32);
  EXPECT_DOUBLE_EQ(attended_pairs(4, 0, 100, true), 10);
  EXPECT_DOUBLE_EQ(attended_pairs(4, 6, 0, false), 40);
}

TEST(Ops, AreDescribedForAPerson) {
  EXPECT_EQ(describe(Gemm{128, 6144, 4096, 1, Format::kBf16, true}),
            "gemm bf16 [128, 4096] x [4096, 6144]");
  EXPECT_EQ(describe(Gemm{8, 512, 128, 16, Format::kBf16, true}),
            "gemm bf16 16 x [8, 128] x [128, 512]");
  EXPECT_EQ(describe(DecodeAttention{8, 1000.5, 32, 8, 128, 128, 512, Dtype::kBf16, Dtype::kFp8}),
            "attention_decode bf16 kv fp8: 8 x 1000.5 keys, heads 32/8, dim 128, window 512");
  EXPECT_EQ(
      describe(Collective{Collective::Kind::kAllReduce, Collective::Group::kTensor, 8, Bytes(2e6)}),
      "all_reduce of 2 MB over 8 ranks");
  EXPECT_EQ(kind_name(MoeExperts{}), "moe");
  EXPECT_EQ(kind_name(LatentAttentionCore{}), "mla");
}

}  // namespace op_test
}  // namespace orrery
