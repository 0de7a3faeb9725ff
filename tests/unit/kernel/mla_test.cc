#include <gtest/gtest.h>

#include "orrery/hardware/catalog.h"
#include "orrery/kernel/tables/kernel_tables.h"
#include "orrery/kernel/tiers/kernel_model.h"

namespace orrery {
namespace mla_test {

LatentAttentionCore decode(std::int64_t batch, double context, int heads) {
  LatentAttentionCore a;
  a.decode = true;
  a.batch = batch;
  a.context = context;
  a.heads = heads;
  return a;
}

std::string class_of(const LatentAttentionCore& a) {
  const KernelFamily& f = latent_core_family();
  return f.classes()[static_cast<std::size_t>(f.class_of(a))].sources.front().name;
}

TEST(LatentCore, DecodeReadsTheLatentOnce) {
  const Gpu gpu = Catalog().gpu("h200-sxm");
  // 64 sequences x 8192 keys x 576 16-bit values = 604 MB over 4.8 TB/s = 125.8 us; queries and
  // outputs add 64 * 16 * (576 + 512) * 2 B = 2.2 MB.
  const KernelPoint p = latent_core_family().point(decode(64, 8192, 16), gpu, false);
  EXPECT_NEAR(p.memory.value(), (64.0 * 8192 * 576 * 2 + 64.0 * 16 * 1088 * 2) / 4.8e12, 1e-9);
  EXPECT_GE(p.base, p.least);
}

TEST(LatentCore, ClassTellsPhaseAndFormats) {
  LatentAttentionCore a = decode(1, 100, 16);
  EXPECT_EQ(class_of(a), "decode_bf16");
  a.kv_dtype = Dtype::kFp8;
  EXPECT_EQ(class_of(a), "decode_fp8kv");
  a.dtype = Dtype::kFp8;
  EXPECT_EQ(class_of(a), "decode_fp8");
  a.decode = false;
  EXPECT_EQ(class_of(a), "prefill_fp8");
}

TEST(LatentCore, ReadsCoresAndLeavesOutHostBoundRows) {
  const std::string text =
      "system,framework,version,kernel_source,table,phase,mla_dtype,kv_dtype,heads,tp_size,batch,"
      "isl,past,latency_us\n"
      "h100_sxm,trtllm,1.3,default,generation_mla,decode,bfloat16,fp8,16,8,4,1,1023,15\n"
      "h100_sxm,vllm,0.14,x,generation_mla,decode,bfloat16,fp8,16,8,4,1,1023,150\n"
      "h100_sxm,sglang,0.5,fa3,wideep_generation_mla,decode,fp8_block,fp8,16,8,4,1,1023,50\n";
  CsvReader csv(text, "mla_kernel.csv");
  KernelSample s;
  ASSERT_TRUE(csv.next());
  ASSERT_TRUE(latent_core_tables().read(csv, "mla_kernel", s));
  const auto& a = std::get<LatentAttentionCore>(s.op);
  EXPECT_TRUE(a.decode);
  EXPECT_EQ(a.context, 1024);  // the new token counted
  EXPECT_EQ(a.heads, 16);
  EXPECT_EQ(s.kernel_class, "decode_fp8kv");
  ASSERT_TRUE(csv.next());
  EXPECT_FALSE(latent_core_tables().read(csv, "mla_kernel", s));
  ASSERT_TRUE(csv.next());
  EXPECT_FALSE(latent_core_tables().read(csv, "mla_kernel", s));
}

TEST(LatentModule, AnOlderSweepOfB200ServesOthers) {
  const std::string text =
      "system,framework,version,kernel_source,table,model,phase,mla_dtype,kv_dtype,heads,tp_size,"
      "batch,isl,past,gemm_type,latency_us\n"
      "b200_sxm,vllm,0.24.0,x,t,deepseek-ai/DeepSeek-V3,decode,bfloat16,bfloat16,16,8,1,1,2,"
      "bfloat16,40\n"
      "b200_sxm,vllm,0.22.0,x,t,nvidia/DeepSeek-V3.1-NVFP4,decode,bfloat16,bfloat16,16,8,1,1,2,"
      "bfloat16,76\n"
      "h200_sxm,vllm,0.22.0,x,t,nvidia/DeepSeek-V3.1-NVFP4,decode,bfloat16,bfloat16,16,8,1,1,2,"
      "bfloat16,86\n";
  CsvReader csv(text, "mla_module.csv");
  KernelSample s;
  ASSERT_TRUE(csv.next());
  ASSERT_TRUE(latent_module_tables().read(csv, "mla_module", s));
  EXPECT_EQ(s.kernel_class, "decode_bf16");
  ASSERT_TRUE(csv.next());
  ASSERT_TRUE(latent_module_tables().read(csv, "mla_module", s));
  EXPECT_EQ(s.kernel_class, "decode_bf16@others");
  ASSERT_TRUE(csv.next());
  EXPECT_FALSE(latent_module_tables().read(csv, "mla_module", s));
}

TEST(LatentCore, PredictsAboveTheRooflineAndGrowsWithContext) {
  const Gpu gpu = Catalog().gpu("h100-sxm");
  KernelClasses classes;
  classes.mla = "trtllm";
  const auto model = make_kernel_model(gpu, classes, Bundle());
  Seconds last;
  for (double context = 256; context < 1e7; context *= 4) {
    const KernelTime t = model->predict(decode(32, context, 16));
    EXPECT_GE(t.time.value, std::max(t.compute, t.memory));
    EXPECT_GT(t.time.value, last) << context;
    last = t.time.value;
  }
}

TEST(AbsorbedProduct, TakesProductsOfManyMatricesOnly) {
  Gemm g{.m = 16, .n = 512, .k = 128, .batch = 16};
  EXPECT_TRUE(absorbed_product_family().serves(kernel_kind(g)));
  g.batch = 1;
  EXPECT_FALSE(absorbed_product_family().serves(kernel_kind(g)));
}

TEST(AbsorbedProduct, PadsToTilesAndWaves) {
  const Gpu gpu = Catalog().gpu("h100-sxm");
  const Gemm g{.m = 8192, .n = 512, .k = 128, .batch = 128};
  const KernelPoint p = absorbed_product_family().point(g, gpu, false);
  // 2 * 128 * 8192 * 512 * 128 FLOPs at 989.4 TFLOP/s.
  EXPECT_NEAR(p.compute.value(), 2.0 * 128 * 8192 * 512 * 128 / 989.4e12, 1e-9);
  EXPECT_GE(p.base, p.least);
}

}  // namespace mla_test
}  // namespace orrery
