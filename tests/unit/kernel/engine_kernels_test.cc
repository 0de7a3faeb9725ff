// The kernels that engines run on an architecture in place of those of its relatives.
#include "orrery/kernel/tiers/engine_kernels.h"

#include <gtest/gtest.h>

#include <string>

#include "orrery/hardware/catalog.h"
#include "orrery/kernel/families/families.h"
#include "orrery/kernel/tiers/kernel_model.h"
#include "orrery/kernel/tiers/tier_choice.h"

namespace orrery {
namespace engine_kernels_test {

Gpu gpu(const char* id) { return Catalog().gpu(id); }

const EngineKernel* rule(const char* family, const char* framework, const char* kernel_class,
                         const char* here, const char* relative) {
  const KernelGpu mine = gpu(here), other = gpu(relative);
  return engine_kernel(family, framework, kernel_class, mine, &other);
}

TEST(EngineKernels, HoldForConsumerBlackwellAlone) {
  for (const char* id : {"rtx-pro-6000-server", "rtx-5090", "gb10"})
    EXPECT_TRUE(rule("gemm", "sglang", "fp8", id, "l40s")) << id;
  for (const char* id : {"b200-sxm", "h100-sxm", "rtx-4090"})
    EXPECT_FALSE(rule("gemm", "sglang", "fp8", id, "a100-80g-sxm")) << id;
  // Its own generation has run the very kernel.
  EXPECT_FALSE(rule("gemm", "sglang", "fp8", "rtx-5090", "rtx-pro-6000-server"));
  // cuBLAS runs the others.
  EXPECT_FALSE(rule("gemm", "sglang", "bf16", "rtx-5090", "l40s"));
  EXPECT_FALSE(rule("gemm", "sglang", "fp8_block", "rtx-5090", "l40s"));
  EXPECT_FALSE(rule("gemm", "trtllm", "fp8", "rtx-5090", "l40s"));
}

TEST(EngineKernels, AFormatIsNoPrefixOfAnother) {
  const EngineKernel* fp8 = rule("moe", "vllm", "fp8_ep_skewed", "rtx-5090", "l40s");
  ASSERT_TRUE(fp8);
  EXPECT_EQ(fp8->served_by, "trtllm");
  EXPECT_FALSE(rule("moe", "vllm", "fp8_block", "rtx-5090", "l40s"));
  EXPECT_TRUE(rule("moe", "sglang", "mxfp4_skewed", "rtx-5090", "l40s"));
  EXPECT_FALSE(rule("moe", "sglang", "mxfp4_fp8", "rtx-5090", "l40s"));
}

TEST(EngineKernels, TheRuleNamesTheClassThatServes) {
  const EngineKernel* many =
      rule("attention_decode", "trtllm", "fp8kv_128_many_heads", "rtx-pro-6000-server", "l40s");
  ASSERT_TRUE(many);
  KernelClass wanted;
  wanted.sources = {{"fp8kv_128_many_heads", 1, 0}, {"bf16_128", 1.1, 0.25}};
  const KernelClass served = served_class(*many, wanted);
  EXPECT_EQ(served.sources[0].name, "bf16_128_many_heads");
  EXPECT_EQ(served.sources[0].factor, 2);
  EXPECT_EQ(served.sources[1].name, "bf16_128");
  EXPECT_EQ(served.sources[1].factor, 2.2);
  // From Hopper, whose fp8 kernels are sound, nothing changes.
  EXPECT_FALSE(rule("attention_decode", "trtllm", "fp8kv_128_many_heads", "rtx-pro-6000-server",
                    "h100-sxm"));
}

Seconds time_of(const char* id, const char* framework, const Op& op) {
  return make_kernel_model(gpu(id), kernels_of(framework), Bundle(), TierChoice::kTransferred)
      ->predict(op)
      .time.value;
}

TEST(EngineKernels, AProductOfWholeTilesTakesTheTimeOfOneTile) {
  // A compute unit of RTX PRO 6000 does 935.6e12 / 188 FLOP/s of fp8. A tile of 128 x 128 results
  // over k = 7168 is 2 * 128 * 128 * 7168 FLOPs: 47.2 us. SGLang's product of 512 columns is four
  // tiles and that of 8192 columns 64: no more than one for each unit.
  for (const int n : {512, 8192}) {
    Gemm g;
    g.m = 1, g.n = n, g.k = 7168;
    g.format = Format::kFp8;
    const double us = time_of("rtx-pro-6000-server", "sglang", g).value() * 1e6;
    EXPECT_GT(us, 47.2);
    EXPECT_LT(us, 60);
    // TensorRT-LLM's splits k (12.4 us measured for 512 columns).
    if (n == 512) {
      EXPECT_LT(time_of("rtx-pro-6000-server", "trtllm", g).value() * 1e6, 30);
    }
  }
}

TEST(EngineKernels, OneQueryHeadDoesNotTakeTheConversionsOfAda) {
  // L40S takes 22.0 us for 16-bit queries on an fp8 cache and 13.1 us on a 16-bit one (one
  // sequence of 1,024 keys, two heads): its kernel converts in software. The 16-bit time bounds
  // what another generation is given.
  DecodeAttention a;
  a.batch = 16, a.heads = a.kv_heads = 2, a.head_dim = a.value_dim = 128, a.context = 1024;
  const Seconds wide = time_of("rtx-pro-6000-server", "trtllm", a);
  a.kv_dtype = Dtype::kFp8;
  EXPECT_LE(time_of("rtx-pro-6000-server", "trtllm", a), wide * 1.02);
  a.heads = 8;  // XQA: the surface of the fp8 class serves
  EXPECT_GT(time_of("rtx-pro-6000-server", "trtllm", a), Seconds(0));
}

TEST(EngineKernels, ExpertsOfBlockScaledTilesBeginWithATile) {
  // 2 * 128 * 128 * (4096 + 1536) FLOPs at 1871.2e12 / 188 FLOP/s: 18.5 us besides what a GPU
  // without whole tiles takes.
  MoeExperts m;
  m.tokens = 1, m.hidden = 4096, m.intermediate = 1536, m.experts = 128, m.top_k = 8, m.ep = 8;
  m.format = Format::kNvfp4;
  const KernelGpu pro = gpu("rtx-pro-6000-server"), b200 = gpu("b200-sxm");
  EXPECT_NEAR(moe_family().point(m, pro, true).first_tile.value() * 1e6, 18.54, 0.01);
  EXPECT_EQ(moe_family().point(m, b200, true).first_tile, Seconds(0));
  m.format = Format::kFp8;
  EXPECT_EQ(moe_family().point(m, pro, true).first_tile, Seconds(0));
}

TEST(EngineKernels, Nvfp4WithoutFp4IsMarlins) {
  Gemm g;
  g.m = 1, g.n = 8192, g.k = 8192;
  g.format = Format::kNvfp4;
  const auto of = [&](const char* id) {
    return make_kernel_model(gpu(id), kernels_of("vllm"), Bundle());
  };
  for (const char* id : {"h100-sxm", "l40s"}) {
    const auto model = of(id);
    EXPECT_NE(model->provenance(g).find("vllm bf16 of gemm"), std::string::npos) << id;
    EXPECT_NE(model->provenance(g).find("Marlin"), std::string::npos) << id;
    // Faster than 16 bit at one row, slower at many.
    const auto times = [&](int rows, Format format) {
      Gemm asked = g;
      asked.m = rows, asked.format = format;
      return model->predict(asked).time.value;
    };
    EXPECT_LT(times(1, Format::kNvfp4), times(1, Format::kBf16) * 0.6) << id;
    EXPECT_GT(times(4096, Format::kNvfp4), times(4096, Format::kBf16) * 1.05) << id;
  }
  EXPECT_EQ(of("b200-sxm")->provenance(g).find("Marlin"), std::string::npos);
}

TEST(EngineKernels, TheAnswerNamesTheKernelThatWasAssumed) {
  MoeExperts m;
  m.tokens = 64, m.hidden = 4096, m.intermediate = 1536, m.experts = 128, m.top_k = 8;
  m.format = Format::kFp8Block;
  const auto model = make_kernel_model(gpu("rtx-pro-6000-server"), kernels_of("sglang"), Bundle(),
                                       TierChoice::kTransferred);
  const std::string said = model->provenance(m);
  EXPECT_NE(said.find("vllm fp8_block of moe measured on l40s"), std::string::npos) << said;
  EXPECT_NE(said.find("Triton"), std::string::npos) << said;
}

}  // namespace engine_kernels_test
}  // namespace orrery
