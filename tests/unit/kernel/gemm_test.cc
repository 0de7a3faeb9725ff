#include <gtest/gtest.h>

#include "orrery/hardware/catalog.h"
#include "orrery/kernel/tables/kernel_tables.h"

namespace orrery {
namespace gemm_test {

Gemm product(std::int64_t m, std::int64_t n, std::int64_t k, Format format = Format::kBf16) {
  Gemm g;
  g.m = m, g.n = n, g.k = k, g.format = format;
  return g;
}

KernelPoint point(const Gemm& g, const char* gpu, bool warm = false) {
  return gemm_family().point(g, Catalog().gpu(gpu), warm);
}

TEST(GemmPoint, RooflineOfTheDataSheet) {
  const KernelPoint p = point(product(4096, 8192, 8192), "h100-sxm");
  // 2 * 4096 * 8192^2 FLOPs at 989.4 TFLOP/s; (4096 * 8192 + 8192^2 + 4096 * 8192) 16-bit values
  // at 3.35 TB/s.
  EXPECT_NEAR(p.compute.value(), 549.76e9 / 989.4e12, 2e-6);
  EXPECT_NEAR(p.memory.value(), 268.4e6 / 3.35e12, 1e-6);
  EXPECT_GE(p.base, p.compute);
  // 1024 tiles of 128 x 256 in 8 waves of 132: 3 % of the last one is idle, and the bytes are a
  // seventh of the time.
  EXPECT_LT((p.base - gemm_family().fill_and_drain()).value(), 1.06 * p.compute.value());
}

TEST(GemmPoint, RowsAreComputedInWholeTiles) {
  // 257 rows need a third tile of 128 rows, 256 do not.
  EXPECT_GT(point(product(257, 8192, 8192), "h100-sxm").base.value(),
            1.1 * point(product(256, 8192, 8192), "h100-sxm").base.value());
}

// One row reads 4.85 of 16 bits a weight, whether the GPU has int8 arithmetic or not. Of
// many rows the arithmetic decides, on Apple's GPUs at 0.88 of the rate of 16-bit weights.
TEST(GemmPoint, RowsOfBlocksAreReadAtTheirBitsWithoutInt8Hardware) {
  const auto base = [](std::int64_t m, Format f) {
    return (point(product(m, 14336, 4096, f), "m2-ultra").base - gemm_family().fill_and_drain())
        .value();
  };
  EXPECT_NEAR(base(1, Format::kQ4K) / base(1, Format::kFp16), 4.85 / 16, 0.01);
  EXPECT_NEAR(base(1, Format::kQ8Plain) / base(1, Format::kFp16), 8.5 / 16, 0.01);
  EXPECT_NEAR(base(2048, Format::kQ4K) / base(2048, Format::kFp16), 1 / 0.88, 0.01);
}

// Measured on RTX PRO 6000 at k = 4096: 17.9 us for 8 x 1024 results and 18.2 us for 8 x 4096.
TEST(GemmPoint, FourBitProductsOfConsumerBlackwellTakeTheTimeOfOneTile) {
  const char* gpu = "rtx-pro-6000-server";
  const double narrow = point(product(8, 1024, 4096, Format::kNvfp4), gpu, true).base.value();
  const double wide = point(product(8, 4096, 4096, Format::kNvfp4), gpu, true).base.value();
  EXPECT_DOUBLE_EQ(narrow, wide);
  EXPECT_NEAR(narrow, 17.9e-6, 2e-6);
  EXPECT_LT(point(product(8, 1024, 4096, Format::kNvfp4), "b200-sxm", true).base.value(),
            narrow / 2);
}

TEST(GemmPoint, WeightsAreWarmOnlyWhereTheCallWasRepeatedOnThem) {
  // 2 MB of weights, whose copies fit into the 96 MiB of an L40S; 512 MB do not.
  EXPECT_LT(point(product(1, 1024, 1024), "l40s", true).least,
            point(product(1, 1024, 1024), "l40s").least);
  EXPECT_EQ(point(product(1, 16384, 16384), "l40s", true).base,
            point(product(1, 16384, 16384), "l40s").base);
}

TEST(GemmPoint, NumberFormatsWithoutHardwareAreWidened) {
  const Gpu v100 = Catalog().gpu("v100-32g-sxm");
  EXPECT_EQ(gemm_family().point(product(64, 64, 64), v100, false).compute,
            gemm_family().point(product(64, 64, 64, Format::kFp16), v100, false).compute);
}

TEST(GemmClasses, SixteenBitFormatsAreOneClassAndNarrowOnesHaveSubstitutes) {
  const KernelFamily& f = gemm_family();
  EXPECT_EQ(f.class_of(product(1, 1, 1, Format::kFp16)), f.class_of(product(1, 1, 1)));
  for (const KernelClass& c : f.classes()) EXPECT_FALSE(c.sources.empty());
  const auto& fp8_block =
      f.classes()[static_cast<std::size_t>(f.class_of(product(1, 1, 1, Format::kFp8Block)))];
  ASSERT_GE(fp8_block.sources.size(), 2u);
  EXPECT_EQ(fp8_block.sources[0].name, "fp8_block");
  EXPECT_EQ(fp8_block.sources[1].name, "fp8");
  EXPECT_GT(fp8_block.sources[1].error, 0);
}

TEST(GemmRead, LeavesOutHostBoundAndSupersededRows) {
  const std::string text =
      "system,framework,version,kernel_source,dtype,m,n,k,latency_us\n"
      "h100_sxm,vllm,0.24,x,bfloat16,16,4096,8192,20\n"
      "h100_sxm,vllm,0.24,x,fp8_block,16,4096,8192,70\n"
      "h100_sxm,sglang,0.5,x,fp8_block,16,4096,8192,15\n"
      "l40s,sglang,0.5,x,fp8_static,16,4096,8192,15\n";
  CsvReader csv(text, "gemm.csv");
  KernelSample s;
  ASSERT_TRUE(csv.next());
  ASSERT_TRUE(gemm_tables().read(csv, "gemm", s));
  const auto& g = std::get<Gemm>(s.op);
  EXPECT_EQ(g.m, 16);
  EXPECT_EQ(g.n, 4096);
  EXPECT_EQ(g.k, 8192);
  EXPECT_EQ(s.kernel_class, "bf16");
  const std::uint64_t shape = s.shape;
  ASSERT_TRUE(csv.next());
  EXPECT_FALSE(gemm_tables().read(csv, "gemm", s));
  ASSERT_TRUE(csv.next());
  ASSERT_TRUE(gemm_tables().read(csv, "gemm", s));
  EXPECT_EQ(s.shape, shape) << "a weight's shape is left out for all classes together";
  ASSERT_TRUE(csv.next());
  EXPECT_FALSE(gemm_tables().read(csv, "gemm", s));
}

}  // namespace gemm_test
}  // namespace orrery
