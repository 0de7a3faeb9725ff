#include <gtest/gtest.h>

#include "orrery/hardware/catalog.h"
#include "orrery/kernel/families.h"
#include "orrery/kernel/kernel_model.h"

namespace orrery {
namespace {

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
  ASSERT_TRUE(linear_attention_family().read(csv, "linear_attention", s));
  const auto& a = std::get<LinearAttentionCore>(s.op);
  EXPECT_FALSE(a.decode);
  EXPECT_EQ(a.batch, 2);
  EXPECT_EQ(a.new_tokens, 512);
  EXPECT_EQ(a.k_heads, 16);
  EXPECT_EQ(s.kernel_class, "gdn_prefill");
  ASSERT_TRUE(csv.next());
  EXPECT_FALSE(linear_attention_family().read(csv, "linear_attention", s));
  ASSERT_TRUE(csv.next());
  ASSERT_TRUE(linear_attention_family().read(csv, "linear_attention", s));
  EXPECT_EQ(std::get<LinearAttentionCore>(s.op).kind, LinearAttentionCore::Kind::kKimiDelta);
  EXPECT_EQ(s.kernel_class, "kda_prefill");
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

}  // namespace
}  // namespace orrery
