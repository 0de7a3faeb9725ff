#include <gtest/gtest.h>

#include "orrery/hardware/catalog.h"
#include "orrery/kernel/tables/kernel_tables.h"

namespace orrery {
namespace attention_test {

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
  return f.classes()[static_cast<std::size_t>(f.class_of(op))].sources.front().name;
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
  // The base uses the bandwidth of the data sheet; the surface holds the part that is not reached.
  EXPECT_NEAR((p.base - decode_attention_family().fill_and_drain()).value(), p.memory.value(),
              1e-8);
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
  // Whole blocks of 128, 64 a head, on 132 units: 2048 blocks in 16 waves. 16 exponentials a clock
  // and unit, of which 0.8 are not hidden, and 2000 clocks a block; 5 us for set-up and the bytes.
  const double clocks = 132 * 1.83e9, pairs = 8192.0 * (8192 + 128) / 2 * 32;
  const double computed =
      pairs * 512 / 989.4e12 + 0.8 * pairs / (16 * clocks) + 2000 * 2048 / clocks;
  EXPECT_NEAR(p.base.value(), computed * 16 * 132 / 2048, 5e-6);
}

TEST(PrefillAttentionPoint, ManyShortCallsFollowTheClockNotThePeak) {
  // One token of 256 sequences: 16384 blocks, which take their 2000 clocks and little else.
  const Gpu h100 = Catalog().gpu("h100-sxm"), b200 = Catalog().gpu("b200-sxm");
  PrefillAttention a = prefill(1, 64, 8);
  a.batch = 256;
  const auto base = [&](const Gpu& gpu) {
    return prefill_attention_family().point(a, gpu, true).base.value();
  };
  EXPECT_GT(base(b200) / base(h100), 989.4 / 2250 * 1.2);
  EXPECT_LT(base(b200) / base(h100), 1);
}

TEST(AttentionRead, LeavesOutFallbacks) {
  const std::string common =
      "system,framework,version,kernel_source,attn_dtype,kv_dtype,batch,heads,kv_heads,head_dim,"
      "window,";
  const std::string sizes = ",1,32,8,128,0,";
  const auto read = [&](const KernelTables& tables, const std::string& row) {
    const bool decode = &tables == &decode_attention_tables();
    const std::string text = common + (decode ? "kv_len" : "isl,past") + ",latency_us\n" + row +
                             sizes + (decode ? "512" : "512,0") + ",20\n";
    CsvReader csv(text, "rows.csv");
    KernelSample s;
    EXPECT_TRUE(csv.next());
    return tables.read(csv, tables.tables().front(), s);
  };
  const KernelTables &first = prefill_attention_tables(), &next = decode_attention_tables();
  EXPECT_TRUE(read(first, "b200_sxm,sglang,0.5,trtllm_mha,bfloat16,bfloat16"));
  EXPECT_FALSE(read(first, "b200_sxm,sglang,0.5,flashinfer,bfloat16,bfloat16"));
  EXPECT_TRUE(read(first, "b200_sxm,sglang,0.5,flashinfer,bfloat16,fp8"));
  EXPECT_FALSE(read(first, "b200_sxm,sglang,0.5,triton,bfloat16,fp8"));
  EXPECT_TRUE(read(first, "l40s,sglang,0.5,flashinfer,bfloat16,bfloat16"));
  EXPECT_FALSE(read(next, "b300_sxm,sglang,0.5,flashinfer,bfloat16,fp8"));
  EXPECT_TRUE(read(next, "b300_sxm,sglang,0.5,trtllm_mha,bfloat16,fp8"));
}

}  // namespace attention_test
}  // namespace orrery
