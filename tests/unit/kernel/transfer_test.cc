#include "orrery/kernel/tiers/transfer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "orrery/hardware/catalog.h"
#include "orrery/kernel/families/families.h"

namespace orrery {
namespace transfer_test {

TEST(Distance, IsSymmetricAndZeroToItself) {
  const Gpu a = Catalog().gpu("a100-80g-sxm"), h = Catalog().gpu("h100-sxm");
  EXPECT_EQ(distance(a, a), 0);
  EXPECT_DOUBLE_EQ(distance(a, h), distance(h, a));
  EXPECT_GE(distance(a, h), kOtherGeneration);
}

std::string nearest(const std::string& id) {
  const Catalog catalog;
  const Gpu gpu = catalog.gpu(id);
  std::string best;
  double least = 1e9;
  for (const char* other :
       {"a100-80g-sxm", "l40s", "h100-sxm", "h200-sxm", "b200-sxm", "b300-sxm"}) {
    const double d = distance(gpu, catalog.gpu(other));
    if (d < least) least = d, best = other;
  }
  return best;
}

TEST(Distance, RelativesAreThoseOfTheKernels) {
  EXPECT_EQ(nearest("gh200-96gb"), "h100-sxm");
  EXPECT_EQ(nearest("h20"), "h200-sxm");
  EXPECT_EQ(nearest("gb200"), "b200-sxm");
  EXPECT_EQ(nearest("rtx-4090"), "l40s");
  EXPECT_EQ(nearest("l4"), "l40s");
  EXPECT_EQ(nearest("a30"), "a100-80g-sxm");
  EXPECT_EQ(nearest("v100-32g-sxm"), "a100-80g-sxm");
  // Consumer-class Blackwell resembles L40S and A100, never B200.
  EXPECT_EQ(nearest("rtx-pro-6000"), "l40s");
  EXPECT_EQ(nearest("rtx-5090"), "l40s");
}

// Surfaces of GPUs by class, without values.
class ChooseSurface : public testing::Test {
 protected:
  void measure(const std::string& gpu, double far, std::vector<std::string> classes) {
    measured_.push_back({gpu, far == 0, far});
    for (std::string& c : classes) files_[gpu].surfaces.push_back({c, Seconds(0), 0.06, 0.03, {}});
  }
  std::string choose() {
    served_ = choose_surface(
        "gemm", wanted_, measured_,
        [this](const std::string& gpu) -> const SurfaceFile& { return files_.at(gpu); });
    return served_.surface ? served_.gpu + " " + served_.surface->kernel_class : "none";
  }

  KernelClass wanted_{{{"fp8", 1, 0}, {"bf16", 1.1, 0.15}}};
  std::vector<MeasuredGpu> measured_;
  std::map<std::string, SurfaceFile> files_;
  ServingSurface served_;
};

TEST_F(ChooseSurface, OwnSweepOfTheClassIsMeasured) {
  measure("own", 0, {"bf16", "fp8"});
  measure("sister", 0.1, {"bf16", "fp8"});
  EXPECT_EQ(choose(), "own fp8");
  EXPECT_EQ(served_.origin, Origin::kMeasured);
  EXPECT_DOUBLE_EQ(served_.own, 0.06);
  EXPECT_DOUBLE_EQ(served_.shared, 0.03);
}

TEST_F(ChooseSurface, ARelativeOfTheGenerationComesBeforeASubstitute) {
  measure("own", 0, {"bf16"});
  measure("sister", 0.1, {"bf16", "fp8"});
  EXPECT_EQ(choose(), "sister fp8");
  EXPECT_EQ(served_.origin, Origin::kTransferred);
  EXPECT_GT(served_.shared, 0.03);
  EXPECT_GT(served_.own, 0.06);
}

TEST_F(ChooseSurface, ASubstituteComesBeforeAnotherGeneration) {
  measure("own", 0, {"bf16"});
  measure("stranger", 5, {"bf16", "fp8"});
  EXPECT_EQ(choose(), "own bf16");
  EXPECT_EQ(served_.origin, Origin::kTransferred);
  EXPECT_DOUBLE_EQ(served_.factor, 1.1);
}

TEST_F(ChooseSurface, TheNearestOfEqualsServes) {
  measure("near", 4, {"fp8"});
  measure("far", 6, {"fp8"});
  EXPECT_EQ(choose(), "near fp8");
}

TEST_F(ChooseSurface, RowsForOthersServeOthersOnly) {
  const std::string for_others = "fp8" + std::string(kForOthers);
  measure("own", 0, {"fp8", for_others});
  EXPECT_EQ(choose(), "own fp8");
  measured_.clear();
  measure("sister", 0.1, {"fp8", for_others});
  EXPECT_EQ(choose(), "sister " + for_others);
}

TEST_F(ChooseSurface, NothingFits) {
  measure("own", 0, {"int8"});
  EXPECT_EQ(choose(), "none");
}

// Decode attention on H100 and H200, which differ in bandwidth alone (3.35 and 4.8 TB/s).
class CarriedOver : public testing::Test {
 protected:
  double time_ratio(double there) const {
    const KernelPoint on_h100 = family_.point(op_, h100_, true),
                      on_h200 = family_.point(op_, h200_, true);
    const double here = carried_over(there, op_, on_h200, h200_, on_h100, h100_);
    return here * on_h200.base.value() / (there * on_h100.base.value());
  }
  static DecodeAttention decode() {
    DecodeAttention a;
    a.batch = 256, a.heads = 32, a.kv_heads = 8, a.head_dim = a.value_dim = 128, a.context = 8192;
    return a;
  }

  const Gpu h100_ = Catalog().gpu("h100-sxm"), h200_ = Catalog().gpu("h200-sxm");
  const KernelFamily& family_ = decode_attention_family();
  const Op op_ = decode();
};

TEST_F(CarriedOver, StreamingFollowsBandwidth) { EXPECT_NEAR(time_ratio(1.0), 3.35 / 4.8, 0.01); }

TEST_F(CarriedOver, LatencyDoesNot) {
  // Nine tenths of the time are neither bytes nor FLOPs.
  EXPECT_NEAR(time_ratio(10), 0.9 + 0.1 * 3.35 / 4.8, 0.01);
}

TEST_F(CarriedOver, ToItselfNothingChanges) {
  const KernelPoint p = family_.point(op_, h100_, true);
  for (double there : {0.8, 1.3, 20.0})
    EXPECT_DOUBLE_EQ(carried_over(there, op_, p, h100_, p, h100_), there);
}

TEST(CarriedOverProducts, FollowThePowerLimit) {
  // B200 has 0.44 W per TFLOP/s, H100 0.71; both are below 0.9.
  const Gpu h100 = Catalog().gpu("h100-sxm"), b200 = Catalog().gpu("b200-sxm");
  Gemm g;
  g.m = g.n = g.k = 16384;
  const Op op = g;
  const KernelPoint there = gemm_family().point(op, h100, true),
                    here = gemm_family().point(op, b200, true);
  EXPECT_NEAR(carried_over(1.3, op, here, b200, there, h100) / 1.3,
              std::cbrt((700 / 989.4) / (1000.0 / 2250)), 0.01);
}

TEST(CarriedOverProducts, HoldTheirPowerByFormat) {
  // B300 has 1.1 times B200's power and the same peak of bf16, but 1.4 to 1.6 times that of fp4.
  const Gpu b200 = Catalog().gpu("b200-sxm"), b300 = Catalog().gpu("b300-sxm");
  Gemm g;
  g.m = g.n = g.k = 16384;
  const auto carried = [&](Format format) {
    g.format = format;
    const Op op = g;
    return carried_over(1.3, op, gemm_family().point(op, b300, true), b300,
                        gemm_family().point(op, b200, true), b200) /
           1.3;
  };
  const double power = b300.power->value() / b200.power->value();
  const double peaks = b300.peak(Dtype::kFp4).value() / b200.peak(Dtype::kFp4).value();
  EXPECT_NEAR(carried(Format::kBf16), 1 / std::cbrt(power), 0.01);
  EXPECT_NEAR(carried(Format::kNvfp4), 1 / std::cbrt(power / peaks), 0.01);
}

TEST(CarriedOverProducts, LaterGenerationsBeginSooner) {
  const Catalog c;
  const Gpu a100 = c.gpu("a100-80g-sxm"), h100 = c.gpu("h100-sxm"), h200 = c.gpu("h200-sxm");
  EXPECT_EQ(latency_ratio("gemm", "bf16", h100, a100), 0.75);
  EXPECT_EQ(latency_ratio("gemm", "bf16", a100, h100), 1 / 0.75);
  EXPECT_EQ(latency_ratio("gemm", "bf16", h200, h100), 1);
  EXPECT_EQ(latency_ratio("gemm", "fp8", h100, a100), 1);
  EXPECT_EQ(latency_ratio("attention_decode", "bf16_128", h100, a100), 1);
  Gemm g;
  g.m = 1, g.n = g.k = 64;  // base is the set-up alone: 3 us, of which a quarter is saved
  const Op op = g;
  const KernelPoint there = gemm_family().point(op, a100, true),
                    here = gemm_family().point(op, h100, true);
  EXPECT_NEAR(gemm_family().fill_and_drain().value(), 3e-6, 1e-12);
  EXPECT_NEAR(carried_over(1.2, op, here, h100, there, a100, gemm_family().fill_and_drain() * 0.25),
              0.9, 0.01);
}

TEST(CarriedOverExperts, AQuarterOfThePassesFollowsTheBandwidthWithinAGeneration) {
  // Compute takes the same time on both GPUs; only the time of memory traffic changes.
  const Gpu h100 = Catalog().gpu("h100-sxm"), h200 = Catalog().gpu("h200-sxm");
  MoeExperts m;
  m.tokens = 16384, m.hidden = 7168, m.intermediate = 2048, m.experts = 256, m.top_k = 8;
  m.format = Format::kFp8Block;
  const Op op = m;
  const KernelPoint there = moe_family().point(op, h100, true),
                    here = moe_family().point(op, h200, true);
  const double carried = carried_over(1.2, op, here, h200, there, h100) * here.base.value();
  // 16 bytes an element of every token, 32 of every pair of token and expert (moe.cc).
  const Bytes passes((16.0 + 32.0 * 8) * 16384 * 7168);
  const Seconds saved = passes / h100.memory.bandwidth - passes / h200.memory.bandwidth;
  EXPECT_NEAR(carried, 1.2 * (here.base + saved * 0.75).value(), 1e-9);
}

TEST(AsRelative, BadlyChosenKernelsOfOneShapeStayWhereTheyWere) {
  Surface s;
  s.values = {0.7f, 0.9f};
  s.series = {{5, {-0.4f, 0.3f, 1.6f}}};
  const Surface elsewhere = as_relative(s);
  EXPECT_EQ(elsewhere.values, s.values);
  EXPECT_EQ(elsewhere.find_series(5)->values, (std::vector<float>{-0.4f, 0.3f, 0.5f}));
}

TEST(ReplacementOf, NamesKernelsOfAGeneration) {
  const Catalog c;
  const Gpu a100 = c.gpu("a100-80g-sxm"), h100 = c.gpu("h100-sxm"), b200 = c.gpu("b200-sxm"),
            b300 = c.gpu("b300-sxm"), rtx = c.gpu("rtx-pro-6000");
  EXPECT_TRUE(replacement_of("attention_decode", "bf16_128", h100, a100));
  EXPECT_TRUE(replacement_of("moe", "fp8", b200, h100));
  EXPECT_TRUE(replacement_of("gemm", "fp8_block", b200, h100));
  EXPECT_FALSE(replacement_of("gemm", "bf16", b200, h100));
  EXPECT_FALSE(replacement_of("moe", "fp8", b300, b200));
  EXPECT_FALSE(replacement_of("moe", "fp8", rtx, h100));  // consumer-class: other kernels
}

TEST(TransferError, GrowsWithDistance) {
  EXPECT_LT(transfer_error("gemm", 0.2), transfer_error("gemm", 1));
  EXPECT_LT(transfer_error("gemm", 1), transfer_error("gemm", 4));
  EXPECT_LT(transfer_error("gemm", 4), transfer_error("gemm", 8));
}

}  // namespace transfer_test
}  // namespace orrery
