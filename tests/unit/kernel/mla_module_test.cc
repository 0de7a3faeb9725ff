// The whole MLA block as one op: its parts, its bounds and its tables.
#include <gtest/gtest.h>

#include "orrery/hardware/catalog.h"
#include "orrery/kernel/tables/kernel_tables.h"
#include "orrery/kernel/tiers/kernel_model.h"

namespace orrery {
namespace mla_module_test {

MlaModule prefill(std::int64_t tokens) {
  MlaModule m;
  m.core.new_tokens = tokens;
  m.core.context = static_cast<double>(tokens);
  m.core.heads = 16;
  return m;
}

// DeepSeek-V3 with 16 heads a rank: down-projection 7168 to 1536 + 512 + 64, query up 1536 to 16
// heads of 192, key and value up 512 to 16 heads of 256, output 16 heads of 128 to 7168.
TEST(MlaModule, CountsItsProductsAndItsCore) {
  const MlaModule m = prefill(100);
  const double products =
      100 * 2.0 *
      (7168.0 * (1536 + 512 + 64) + 1536.0 * 16 * 192 + 512.0 * 16 * 256 + 16.0 * 128 * 7168);
  EXPECT_NEAR(flops(m).value(), products + flops(m.core).value(), products * 1e-9);
}

TEST(MlaModule, IsNeverFasterThanItsPartsAtTheirBest) {
  const Gpu gpu = Catalog().gpu("h200-sxm");
  KernelClasses classes;
  classes.mla = "vllm";
  const auto model = make_kernel_model(gpu, classes, Bundle());
  for (std::int64_t tokens : {1, 64, 1024, 16384}) {
    const Op op = prefill(tokens);
    const KernelTime t = model->predict(op);
    EXPECT_GE(t.time.value, flops(op) / gpu.peak(Dtype::kBf16)) << tokens;
    EXPECT_EQ(t.time.origin, Origin::kMeasured) << tokens;
  }
}

TEST(MlaModule, ReadsOneModelOfTheTable) {
  const std::string text =
      "system,framework,version,kernel_source,table,model,phase,mla_dtype,kv_dtype,gemm_type,heads,"
      "batch,isl,past,latency_us\n"
      "h200_sxm,sglang,0.5,x,mla,deepseek-ai/DeepSeek-V3,decode,bfloat16,fp8,fp8_block,16,8,1,1023,"
      "70\n"
      "h200_sxm,sglang,0.5,x,mla,someone/Else,decode,bfloat16,fp8,fp8_block,16,8,1,1023,70\n";
  CsvReader csv(text, "mla_module.csv");
  KernelSample s;
  ASSERT_TRUE(csv.next());
  ASSERT_TRUE(latent_module_tables().read(csv, "mla_module", s));
  const auto& m = std::get<MlaModule>(s.op);
  EXPECT_TRUE(m.core.decode);
  EXPECT_EQ(m.core.batch, 8);
  EXPECT_EQ(m.core.heads, 16);
  EXPECT_DOUBLE_EQ(m.core.context, 1024);
  EXPECT_EQ(m.format, Format::kFp8Block);
  ASSERT_TRUE(csv.next());
  EXPECT_FALSE(latent_module_tables().read(csv, "mla_module", s));
}

}  // namespace mla_module_test
}  // namespace orrery
