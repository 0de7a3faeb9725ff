#include <gtest/gtest.h>

#include "orrery/hardware/catalog.h"
#include "orrery/kernel/tables/kernel_tables.h"
#include "orrery/kernel/tiers/kernel_model.h"

namespace orrery {
namespace linear_attention_test {

LinearAttentionCore prefill(std::int64_t batch, std::int64_t tokens) {
  LinearAttentionCore a;
  a.batch = batch;
  a.new_tokens = tokens;
  a.k_heads = 16;
  a.v_heads = 32;
  return a;
}

TEST(LinearAttention, ConvolutionIsAddedByPhysics) {
  const Gpu gpu = Catalog().gpu("h100-sxm");
  // Channels 2 * 16 * 128 + 32 * 128 = 8192, 16 bits, in and out, 65536 tokens: 2.147 GB at 0.7
  // of 3.35 TB/s, and the floor of 2 us.
  const KernelPoint p = linear_attention_family().point(prefill(4, 16384), gpu, false);
  EXPECT_NEAR(p.rest.value(), 2e-6 + 2.0 * 65536 * 8192 * 2 / (0.7 * 3.35e12), 1e-9);
}

TEST(LinearAttention, ReadsTheDeltaRuleAlone) {
  const std::string text =
      "system,framework,version,kernel_source,table,op,phase,model,d_model,d_conv,k_heads,k_dim,v_"
      "heads,v_dim,d_state,"
      "n_groups,chunk,batch,seq,tokens,latency_us\n"
      "h100_sxm,vllm,0.24,chunk_gated_delta_rule_flashinfer,gdn,gdn,context,m,4096,4,16.0,128.0,32,"
      "128,,,,2,512,1024,70\n"
      "h100_sxm,vllm,0.24,causal_conv1d_fn,gdn,gdn,context,m,4096,4,16.0,128.0,32,128,,,,2,512,"
      "1024,20\n"
      "h100_sxm,vllm,0.24,chunk_kda,kda,kda,context,m,4096,4,16.0,128.0,32,128,,,,2,512,1024,70\n";
  CsvReader csv(text, "linear_attention.csv");
  KernelSample s;
  ASSERT_TRUE(csv.next());
  ASSERT_TRUE(linear_attention_tables().read(csv, "linear_attention", s));
  const auto& a = std::get<LinearAttentionCore>(s.op);
  EXPECT_FALSE(a.decode);
  EXPECT_EQ(a.batch, 2);
  EXPECT_EQ(a.new_tokens, 512);
  EXPECT_EQ(a.k_heads, 16);
  EXPECT_EQ(s.kernel_class, "gdn_prefill");
  ASSERT_TRUE(csv.next());
  EXPECT_FALSE(linear_attention_tables().read(csv, "linear_attention", s));
  ASSERT_TRUE(csv.next());
  ASSERT_TRUE(linear_attention_tables().read(csv, "linear_attention", s));
  EXPECT_EQ(std::get<LinearAttentionCore>(s.op).kind, LinearAttentionCore::Kind::kKimiDelta);
  EXPECT_EQ(s.kernel_class, "kda_prefill");
}

TEST(LinearAttention, ADisturbedSweepTeachesNothing) {
  // 8192 channels: 8192 tokens make 2^26 values.
  const auto read = [](const KernelTables& tables, const std::string& first,
                       const std::string& kernel, int sequence) {
    const std::string text =
        "system,framework,version,kernel_source,table,phase,d_conv,k_heads,k_dim,v_heads,v_dim,"
        "batch,"
        "seq\n" +
        first + "," + kernel + ",gdn,context,4,16,128,32,128,1," + std::to_string(sequence) + "\n";
    CsvReader csv(text, "linear_attention.csv");
    KernelSample s;
    EXPECT_TRUE(csv.next());
    return tables.read(csv, "linear_attention", s);
  };
  const KernelTables &rule = linear_attention_tables(), &convolution = causal_convolution_tables();
  const std::string disturbed = "h200_sxm,sglang,0.5.14";
  EXPECT_FALSE(read(rule, disturbed, "chunk_gated_delta_rule", 8192));
  EXPECT_FALSE(read(convolution, disturbed, "causal_conv1d_fn", 8192));
  EXPECT_TRUE(read(rule, disturbed, "chunk_gated_delta_rule", 8191));
  EXPECT_TRUE(read(convolution, disturbed, "causal_conv1d_fn", 8191));
  EXPECT_TRUE(read(rule, "h100_sxm,sglang,0.5.14", "chunk_gated_delta_rule", 8192));
  EXPECT_TRUE(read(convolution, "h200_sxm,vllm,0.24.0", "causal_conv1d_fn", 8192));
}

TEST(LinearAttention, PredictsAboveTheRooflineAndLinearlyFarOutside) {
  const Gpu gpu = Catalog().gpu("h100-sxm");
  const auto model = make_kernel_model(gpu, {}, Bundle());
  for (std::int64_t tokens : {1, 512, 32768, 1000000}) {
    const KernelTime t = model->predict(prefill(8, tokens));
    EXPECT_GE(t.time.value, std::max(t.compute, t.memory)) << tokens;
  }
  const double twice = model->predict(prefill(8, 2000000)).time.value /
                       model->predict(prefill(8, 1000000)).time.value;
  EXPECT_NEAR(twice, 2, 0.01);
}

LinearAttentionCore mamba(std::int64_t batch, std::int64_t tokens) {  // of Nemotron-Nano-9B
  LinearAttentionCore a;
  a.kind = LinearAttentionCore::Kind::kMamba2;
  a.decode = tokens == 1;
  a.batch = batch, a.new_tokens = tokens;
  a.k_heads = 8, a.k_dim = 128, a.v_heads = 128, a.v_dim = 80;
  a.conv = 1;
  return a;
}

TEST(StateSpace, DecodeStreamsTheState) {
  const Gpu gpu = Catalog().gpu("h100-sxm");
  const auto model = make_kernel_model(gpu, {}, Bundle());
  // 128 heads of 80 x 128 in fp32, read and written, at 0.8 of 3.35 TB/s: 3.91 us a sequence; the
  // rest of the bytes (x, B, C, y: 45 KB) is half a percent.
  const double slope = (model->predict(mamba(256, 1)).time.value.value() -
                        model->predict(mamba(128, 1)).time.value.value()) /
                       128;
  EXPECT_NEAR(slope, 2 * 128 * 80 * 128 * 4 / (0.8 * 3.35e12), 0.01 * slope);
  const KernelTime t = model->predict(mamba(256, 1));
  EXPECT_EQ(t.time.origin, Origin::kAnalytical);
  EXPECT_EQ(t.bound, Bound::kMemory);
}

TEST(StateSpace, PrefillMovesTheStatesOfItsChunks) {
  const Gpu gpu = Catalog().gpu("h100-sxm");
  // 8192 tokens, 64 chunks. States of 128 x 80 x 128 fp32 = 5.24 MB a chunk, four times (written,
  // passed on, read): 1342 MB. x twice and y, 168 MB each: 503 MB. B and C twice: 67 MB. C B, 8 x
  // 128 fp32 a token, in and out: 67 MB. Gates of 128 fp32, six times: 25 MB. 2005 MB in all at
  // 3.35 TB/s, and the starts of four more kernels. The last kernel moves 730 MB of them (x and
  // y 336, states 336, C B 34, C 17, gates 8), 218 us, but computes 5.2 MFLOP a token at 0.13 of
  // 989 TFLOP/s in 63 waves of 132 blocks for 8192 blocks, 339 us.
  const double moved = 1342e6 + 503e6 + 67e6 + 67e6 + 25e6;
  const double waves = 63 * 132 / 8192.0;
  const double scan = waves * 2 * (2 * 128.0 * 128 * 80) * 8192 / (0.13 * 989.4e12);
  const KernelPoint p = state_space_family().point(mamba(1, 8192), gpu, false);
  EXPECT_NEAR(p.base.value(), 8e-6 + (moved - 730e6) / 3.35e12 + scan, 0.02 * p.base.value());
  // Chunks of 32 have four times as many states.
  LinearAttentionCore narrow = mamba(1, 8192);
  narrow.chunk = 32;
  EXPECT_GT(state_space_family().point(narrow, gpu, false).base, p.base * 1.5);
}

TEST(StateSpace, IsAboveTheRooflineAndLinearInTokens) {
  for (const char* id : {"h100-sxm", "mi300x", "l4"}) {
    const auto model = make_kernel_model(Catalog().gpu(id), {}, Bundle());
    for (std::int64_t tokens : {1, 2, 127, 128, 129, 4096, 1000000}) {
      const KernelTime t = model->predict(mamba(4, tokens));
      EXPECT_GE(t.time.value, std::max(t.compute, t.memory)) << id << ' ' << tokens;
    }
    const double twice =
        model->predict(mamba(8, 2000000)).time.value / model->predict(mamba(8, 1000000)).time.value;
    EXPECT_NEAR(twice, 2, 0.01) << id;
  }
}

}  // namespace linear_attention_test
}  // namespace orrery
