#include "orrery/kernel/tiers/tier_choice.h"

#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/hardware/catalog.h"

namespace orrery {
namespace kernel_model_test {

Gemm product(std::int64_t m, std::int64_t n, std::int64_t k, Format format = Format::kBf16) {
  Gemm g;
  g.m = m, g.n = n, g.k = k;
  g.format = format;
  return g;
}

std::unique_ptr<KernelModel> model_of(const std::string& gpu, TierChoice tier = TierChoice::kBest) {
  return make_kernel_model(Catalog().gpu(gpu), KernelClasses{}, Bundle(), tier);
}

TEST(KernelModel, TiersAreNamed) {
  const Op op = product(16, 4096, 4096);
  EXPECT_EQ(model_of("h100-sxm")->predict(op).time.origin, Origin::kMeasured);
  EXPECT_EQ(model_of("h100-sxm", TierChoice::kTransferred)->predict(op).time.origin,
            Origin::kTransferred);
  EXPECT_EQ(model_of("h100-sxm", TierChoice::kAnalytical)->predict(op).time.origin,
            Origin::kAnalytical);
  EXPECT_EQ(model_of("rtx-3090")->predict(op).time.origin, Origin::kTransferred);
  EXPECT_EQ(model_of("mi300x")->predict(op).time.origin, Origin::kAnalytical);
}

TEST(KernelModel, ProvenanceNamesClassAndGpu) {
  const Op op = product(16, 4096, 4096);
  EXPECT_EQ(model_of("h100-sxm")->provenance(op), "vllm bf16 of gemm measured on h100-sxm");
  EXPECT_EQ(model_of("rtx-pro-6000")->provenance(op),
            "vllm bf16 of gemm measured on rtx-pro-6000-server");
  EXPECT_EQ(model_of("mi300x")->provenance(op), "data sheet of mi300x and physics");
  const std::string norm = model_of("h100-sxm")->provenance(Elementwise{});
  EXPECT_EQ(norm, "memory_bound of elementwise, fitted on layers of several GPUs");
}

TEST(KernelModel, AnUnmeasuredFormatIsServedByASubstitute) {
  // vLLM has no int8 sweep: the fp8 surface or the bf16 one with a wider error.
  const auto model = model_of("h100-sxm");
  const KernelTime bf16 = model->predict(product(1024, 4096, 4096));
  const KernelTime int8 = model->predict(product(1024, 4096, 4096, Format::kInt8));
  EXPECT_EQ(int8.time.origin, Origin::kTransferred);
  EXPECT_GT(int8.time.shared, bf16.time.shared);
}

TEST(KernelModel, BoundNamesWhatLimits) {
  const auto model = model_of("h100-sxm");
  EXPECT_EQ(model->predict(product(8192, 8192, 8192)).bound, Bound::kCompute);
  EXPECT_EQ(model->predict(product(1, 16384, 16384)).bound, Bound::kMemory);
  EXPECT_EQ(model->predict(product(1, 64, 64)).bound, Bound::kLaunch);
}

// Physics alone predicts no product faster than the fastest one that was measured, and slows no
// call that memory bounds.
TEST(KernelModel, PhysicsKnowsTheFastestMeasuredProduct) {
  for (const char* name : {"mi300x", "mi325x", "mi350x", "mi355x"}) {
    const Gpu gpu = Catalog().gpu(name);
    Gpu without = gpu;
    without.achievable = {};
    const auto model = make_kernel_model(gpu, KernelClasses{}, Bundle(), TierChoice::kBest);
    const auto sheet = make_kernel_model(without, KernelClasses{}, Bundle(), TierChoice::kBest);
    for (const Format format : {Format::kBf16, Format::kFp8}) {
      const Gemm large = product(16384, 8192, 8192, format);
      const double rate =
          flops(Op(large)) / model->predict(large).time.value / gpu.peak(arithmetic(Op(large)));
      EXPECT_LE(rate, *gpu.achievable_share(Dtype::kBf16)) << name;
      EXPECT_GE(rate, *gpu.achievable_share(Dtype::kBf16) * 0.85) << name;
      const Gemm narrow = product(1, 16384, 16384, format);
      EXPECT_NEAR(model->predict(narrow).time.value / sheet->predict(narrow).time.value, 1, 1e-3);
    }
  }
}

TEST(KernelModel, AFormatWithoutHardwareIsWidenedOrRefused) {
  // V100 multiplies neither bf16 nor fp8: both run in fp16.
  EXPECT_GT(model_of("v100-32g-sxm")->predict(product(16, 4096, 4096, Format::kFp8)).time.value,
            Seconds(0));
  Gpu none = Catalog().gpu("h100-sxm");
  for (auto& peak : none.peaks) peak.reset();
  none.peaks[static_cast<std::size_t>(Dtype::kInt8)] = FlopsPerSecond(1e15);
  none.id = "int8-only";
  EXPECT_THROW(make_kernel_model(none, KernelClasses{}, Bundle(), TierChoice::kAnalytical)
                   ->predict(product(16, 64, 64)),
               NoData);
}

}  // namespace kernel_model_test
}  // namespace orrery
