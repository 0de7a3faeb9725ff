// Gradients and optimizer: sizes, FLOPs and bytes by hand.
#include <gtest/gtest.h>

#include "orrery/workload/ops/op.h"

namespace orrery {
namespace training_op_test {

TEST(Gradients, ProductsOfALinearLayer) {
  Gemm g;
  g.m = 6;
  g.n = 10;
  g.k = 4;
  const GemmGradients d = gradients(g);
  // dX = dY W^T: [6, 10] x [10, 4]; dW = X^T dY: [4, 6] x [6, 10].
  EXPECT_EQ(d.first.m, 6);
  EXPECT_EQ(d.first.k, 10);
  EXPECT_EQ(d.first.n, 4);
  EXPECT_EQ(d.second.m, 4);
  EXPECT_EQ(d.second.k, 6);
  EXPECT_EQ(d.second.n, 10);
  EXPECT_TRUE(d.first.gradient && d.second.gradient);
  EXPECT_FALSE(d.second.weight);
  EXPECT_EQ(flops(d.first), flops(g));
  EXPECT_EQ(flops(d.second), flops(g));
}

TEST(Gradients, Elementwise) {
  Elementwise e{Elementwise::Kind::kActivation, 2, 8, Bytes(64), Bytes(32)};
  const Elementwise g = gradient(e);  // reads the result's gradient and both operands
  EXPECT_EQ(g.read, Bytes(96));
  EXPECT_EQ(g.written, Bytes(64));
  EXPECT_TRUE(g.gradient);
  e.kind = Elementwise::Kind::kAdd;
  EXPECT_EQ(bytes(gradient(e)), Bytes(0));
  e.kind = Elementwise::Kind::kRotary;
  EXPECT_EQ(bytes(gradient(e)), Bytes(96));
}

TEST(Gradients, Attention) {
  PrefillAttention a;
  a.batch = 2;
  a.new_tokens = 16;
  a.heads = 4;
  a.kv_heads = 2;
  a.head_dim = a.value_dim = 8;
  const AttentionBackward b{a};
  EXPECT_DOUBLE_EQ(flops(b).value(), 2.5 * flops(a).value());
  // Per query: q, dq, o and do of 8 values in 16 bits, and 2 x 8 values in 32 bits: 64 + 64 bytes.
  // Per key: k, v and their gradients of 8 values in 16 bits: 64 bytes.
  EXPECT_DOUBLE_EQ(bytes(b).value(), 2 * (16.0 * 4 * 128 + 16.0 * 2 * 64));
  EXPECT_EQ(arithmetic(b), Dtype::kBf16);
}

TEST(Optimizer, AdamBytesAParameter) {
  // Mixed precision: 2 gradient + 4 master + 8 moments read; 12 and the weight written.
  const OptimizerStep mixed =
      adam_step(1000, Dtype::kBf16, Dtype::kBf16, Dtype::kFp32, Dtype::kFp32);
  EXPECT_EQ(mixed.read, Bytes(14));
  EXPECT_EQ(mixed.written, Bytes(14));
  EXPECT_EQ(bytes(mixed), Bytes(28000));
  // All in fp32, no master: gradient, weight, moments read; weight and moments written.
  const OptimizerStep plain =
      adam_step(1000, Dtype::kFp32, Dtype::kFp32, std::nullopt, Dtype::kFp32);
  EXPECT_EQ(plain.read, Bytes(16));
  EXPECT_EQ(plain.written, Bytes(12));
  EXPECT_EQ(flops(plain), Flops(0));
}

TEST(Convolution, BytesOfPrefillAndDecode) {
  CausalConvolution c;
  c.batch = 2;
  c.new_tokens = 8;
  c.channels = 16;
  EXPECT_EQ(bytes(c), Bytes(2 * 2 * 8 * 16 * 2));
  c.decode = true;
  c.new_tokens = 1;  // in and out, and three tokens of each window read and written
  EXPECT_EQ(bytes(c), Bytes((2 * 2 + 2 * 2 * 3) * 16 * 2));
}

TEST(SparseAttention, ReadsNoMoreThanItChooses) {
  SparseAttentionBlock b;
  b.decode = true;
  b.past = 100000;
  SparseAttentionBlock longer = b;
  longer.past = 200000;
  b.index_heads = longer.index_heads = 0;
  EXPECT_EQ(flops(b), flops(longer));
  EXPECT_EQ(bytes(b), bytes(longer));
  b.index_heads = longer.index_heads = 64;  // the indexer scores every token
  EXPECT_DOUBLE_EQ(flops(longer).value() - flops(b).value(), 2.0 * 64 * 128 * 100000);
  EXPECT_DOUBLE_EQ((bytes(longer) - bytes(b)).value(), 128.0 * 100000);
}

}  // namespace training_op_test
}  // namespace orrery
