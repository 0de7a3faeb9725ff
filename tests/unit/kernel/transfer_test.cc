#include "orrery/kernel/transfer.h"

#include <gtest/gtest.h>

#include <map>

#include "orrery/hardware/catalog.h"

namespace orrery {
namespace {

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

  KernelFamily::KernelClass wanted_{{{"fp8", 1, 0}, {"bf16", 1.1, 0.15}}};
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

TEST_F(ChooseSurface, NothingFits) {
  measure("own", 0, {"int8"});
  EXPECT_EQ(choose(), "none");
}

}  // namespace
}  // namespace orrery
