#include <gtest/gtest.h>

#include "orrery/hardware/catalog.h"
#include "orrery/kernel/families.h"

namespace orrery {
namespace {

DecodeAttention decode(std::int64_t batch, double context, int heads, int kv_heads,
                       std::int64_t window = 0) {
  DecodeAttention a;
  a.batch = batch, a.context = context, a.heads = heads, a.kv_heads = kv_heads, a.window = window;
  return a;
}

PrefillAttention prefill(std::int64_t tokens, int heads, int kv_heads, std::int64_t window = 0) {
  PrefillAttention a;
  a.new_tokens = tokens, a.heads = heads, a.kv_heads = kv_heads, a.window = window;
  return a;
}

std::string class_of(const Op& op) {
  const KernelFamily& f = std::holds_alternative<DecodeAttention>(op) ? decode_attention_family()
                                                                      : prefill_attention_family();
  return f.classes()[static_cast<std::size_t>(f.class_of(op))].choices.front().name;
}

TEST(DecodeAttentionPoint, StreamsTheCacheOnce) {
  const Gpu gpu = Catalog().gpu("h100-sxm");
  const KernelPoint p = decode_attention_family().point(decode(32, 8192, 32, 8), gpu, false);
  // Keys and values: 32 * 8192 * 8 * 128 * 2 16-bit values; queries and outputs 32 * 32 * 128 * 2
  // of them.
  EXPECT_NEAR(p.memory.value(), (32.0 * 8192 * 8 * 128 * 2 + 32.0 * 32 * 128 * 2) * 2 / 3.35e12,
              1e-7);
  EXPECT_GE(p.base, p.least);
  EXPECT_EQ(p.least, p.memory);
}

TEST(DecodeAttentionPoint, ASmallCacheIsWarmWhereTheCallWasRepeated) {
  const Gpu gpu = Catalog().gpu("l40s");
  const Op small = decode(1, 8192, 8, 8);  // 34 MB in an L2 of 96 MiB
  EXPECT_LT(decode_attention_family().point(small, gpu, true).base,
            decode_attention_family().point(small, gpu, false).base);
  const Op large = decode(16, 8192, 8, 8);
  EXPECT_EQ(decode_attention_family().point(large, gpu, true).base,
            decode_attention_family().point(large, gpu, false).base);
}

TEST(DecodeAttentionPoint, AWindowBoundsWhatIsRead) {
  const Gpu gpu = Catalog().gpu("h100-sxm");
  const auto memory = [&](double context) {
    return decode_attention_family().point(decode(8, context, 32, 8, 128), gpu, false).memory;
  };
  EXPECT_LT(memory(64), memory(128));
  EXPECT_EQ(memory(1000), memory(100000));
}

TEST(AttentionClasses, FormatsHeadSizeAndVariant) {
  EXPECT_EQ(class_of(decode(1, 100, 32, 8)), "bf16_128");
  DecodeAttention a = decode(1, 100, 32, 8, 128);
  a.kv_dtype = Dtype::kFp8;
  EXPECT_EQ(class_of(a), "fp8kv_128_window");
  a.dtype = Dtype::kFp8;
  a.head_dim = 80;  // the nearest measured size
  EXPECT_EQ(class_of(a), "fp8_64_window");
  EXPECT_EQ(class_of(decode(1, 100, 32, 8, 4096)), "bf16_128_wide_window");
  EXPECT_EQ(class_of(decode(1, 100, 32, 1)), "bf16_128");
  EXPECT_EQ(class_of(decode(1, 100, 48, 1)), "bf16_128_many_heads");
  EXPECT_EQ(class_of(prefill(100, 48, 1)), "bf16_128");
  EXPECT_EQ(class_of(prefill(100, 32, 8, 1024)), "bf16_128_wide_window");
}

TEST(PrefillAttentionPoint, CausalAttentionComputesHalfTheSquareInWholeBlocks) {
  const Gpu gpu = Catalog().gpu("h100-sxm");
  const KernelPoint p = prefill_attention_family().point(prefill(8192, 32, 8), gpu, false);
  // 8192 * 8193 / 2 pairs of query and key, 2 * (128 + 128) FLOPs for each and each of 32 heads.
  EXPECT_NEAR(p.compute.value(), 8192.0 * 8193 / 2 * 512 * 32 / 989.4e12, 1e-6);
  EXPECT_GT(p.base, p.compute);
  EXPECT_LT(p.base.value(), 1.1 * p.compute.value());
}

}  // namespace
}  // namespace orrery
