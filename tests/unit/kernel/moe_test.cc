#include <gtest/gtest.h>

#include <cmath>

#include "orrery/hardware/catalog.h"
#include "orrery/kernel/tables/kernel_tables.h"
#include "orrery/kernel/tiers/kernel_model.h"

namespace orrery {
namespace moe_test {

MoeExperts mixtral(std::int64_t tokens) {
  MoeExperts m;
  m.tokens = tokens;
  m.hidden = 4096;
  m.intermediate = 14336;
  m.experts = 8;
  m.top_k = 2;
  return m;
}

std::string class_of(const MoeExperts& m) {
  const KernelFamily& f = moe_family();
  return f.classes()[static_cast<std::size_t>(f.class_of(m))].sources.front().name;
}

TEST(MoeFamily, RooflineIsThatOfTheOp) {
  const Gpu gpu = Catalog().gpu("h100-sxm");
  // 16384 tokens x 2 experts x 3 products of 4096 x 14336: 2 * 32768 * 3 * 4096 * 14336 FLOPs at
  // 989.4 TFLOP/s.
  const KernelPoint p = moe_family().point(mixtral(16384), gpu, false);
  EXPECT_NEAR(p.compute.value(), 2.0 * 32768 * 3 * 4096 * 14336 / 989.4e12, 1e-6);
  EXPECT_GE(p.least, p.compute);
  EXPECT_GE(p.base, p.least);
  EXPECT_DOUBLE_EQ(p.x[0], 12);  // 4096 tokens an expert
}

TEST(MoeFamily, FewTokensReadTheActiveExperts) {
  const Gpu gpu = Catalog().gpu("h100-sxm");
  // One token: two experts of 3 * 4096 * 14336 16-bit weights, 704.6 MB, over 3.35 TB/s;
  // activations are small.
  const KernelPoint p = moe_family().point(mixtral(1), gpu, false);
  EXPECT_NEAR(p.memory.value(), 2.0 * 3 * 4096 * 14336 * 2 / 3.35e12, 1e-6);
  EXPECT_GT(p.memory, p.compute);
}

TEST(MoeFamily, ClassTellsFormatSpreadAndSkew) {
  MoeExperts m = mixtral(8);
  EXPECT_EQ(class_of(m), "bf16");
  m.skew = 1.2;
  EXPECT_EQ(class_of(m), "bf16_skewed");
  m.ep = 4;
  m.format = Format::kFp8Block;
  EXPECT_EQ(class_of(m), "fp8_block_ep_skewed");
}

TEST(MoeFamily, EveryClassHasASubstitute) {
  for (const auto& c : moe_family().classes()) {
    EXPECT_GE(c.sources.size(), 3u);
    EXPECT_EQ(c.sources.front().error, 0);
    for (std::size_t i = 1; i < c.sources.size(); ++i) EXPECT_GT(c.sources[i].error, 0);
  }
}

TEST(MoeFamily, BaseGrowsWithTokens) {
  const Gpu gpu = Catalog().gpu("b200-sxm");
  for (double skew : {0.0, 1.2}) {
    for (int ep : {1, 4, 8}) {
      MoeExperts m = mixtral(1);
      m.skew = skew;
      m.ep = ep;
      Seconds last;
      for (m.tokens = 1; m.tokens < 100000; m.tokens += 1 + m.tokens / 9) {
        const Seconds base = moe_family().point(m, gpu, false).base;
        EXPECT_GE(base.value(), last.value() * (1 - 1e-9)) << m.tokens << " " << skew << " " << ep;
        last = base;
      }
    }
  }
}

constexpr std::string_view kHeader =
    "system,framework,version,kernel_source,dtype,hidden,inter,topk,experts,tp,ep,distribution,"
    "tokens,latency_us\n";

bool reads(const std::string& line, KernelSample& sample) {
  const std::string text = std::string(kHeader) + line;
  CsvReader csv(text, "moe.csv");
  EXPECT_TRUE(csv.next());
  return moe_tables().read(csv, "moe", sample);
}

TEST(MoeFamily, ReadsARow) {
  KernelSample s;
  ASSERT_TRUE(
      reads("h100_sxm,sglang,0.5.14,x,fp8_block,4096,1536,8,128,2,4,power_law_1.2,64,100\n", s));
  const auto& m = std::get<MoeExperts>(s.op);
  EXPECT_EQ(m.tokens, 64);
  EXPECT_EQ(m.intermediate, 1536);
  EXPECT_EQ(m.tp, 2);
  EXPECT_EQ(m.ep, 4);
  EXPECT_EQ(m.skew, 1.2);
  EXPECT_EQ(m.format, Format::kFp8Block);
  EXPECT_TRUE(m.gated);
  EXPECT_EQ(s.kernel_class, "fp8_block_ep_skewed");
}

TEST(MoeFamily, ReadsExpertsWithoutAGate) {
  KernelSample s;
  ASSERT_TRUE(reads("h100_sxm,trtllm,1.3,x,bfloat16,2688,1856,6,128,1,1,balanced,64,100\n", s));
  EXPECT_FALSE(std::get<MoeExperts>(s.op).gated);
}

TEST(MoeFamily, RefusesUnsoundRows) {
  KernelSample s;
  EXPECT_FALSE(reads("h200_sxm,vllm,0.24.0,x,fp8,4096,1536,8,128,1,1,balanced,64,100\n", s));
  EXPECT_FALSE(reads(
      "b200_sxm,trtllm,1.3,moe_torch_flow_min_latency,nvfp4,4096,1536,8,128,1,1,balanced,64,100\n",
      s));
  EXPECT_FALSE(reads("b200_sxm,trtllm,1.3,x,w4a16_mxfp4,2880,2880,4,128,1,1,balanced,64,100\n", s));
}

TEST(MoeFamily, PredictsWithinTheRooflineAndSanelyFarOutside) {
  const Gpu gpu = Catalog().gpu("h100-sxm");
  const auto model = make_kernel_model(gpu, {}, Bundle());
  for (std::int64_t tokens : {1, 100, 10000, 10000000}) {
    const KernelTime t = model->predict(mixtral(tokens));
    EXPECT_GE(t.time.value, std::max(t.compute, t.memory)) << tokens;
    EXPECT_LT(t.time.value, 10 * std::max(t.compute, t.memory) + microseconds(300)) << tokens;
  }
  const double twice =
      model->predict(mixtral(20000000)).time.value / model->predict(mixtral(10000000)).time.value;
  EXPECT_NEAR(twice, 2, 0.01);
}

}  // namespace moe_test
}  // namespace orrery
