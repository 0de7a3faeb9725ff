// Whose measured products training takes.
#include "orrery/training/iteration/training_kernels.h"

#include <gtest/gtest.h>

#include "orrery/hardware/catalog.h"

namespace orrery {
namespace training_kernels_test {

TEST(TrainingKernels, ScaledProductsAreThoseOfCublasLt) {
  const Bundle bundle;
  const KernelClasses classes = training_kernels(Catalog(bundle).gpu("h100-sxm"), bundle);
  EXPECT_EQ(classes.gemm, "vllm");
  EXPECT_EQ(classes.scaled_gemm, "trtllm");
  EXPECT_EQ(classes.gradients, "pytorch");
}

// The same call of cuBLAS takes as long on GB200 as on B200 or less: both have the same dies, GB200
// the higher power limit. vLLM's sweep of GB200 says 1.6 times as long.
TEST(TrainingKernels, LargeProductsOnGb200AreNoSlowerThanOnB200) {
  const Bundle bundle;
  const Catalog catalog(bundle);
  const Gemm product{16384, 16384, 6144, 1, Format::kBf16, false};
  const auto time = [&](const char* id) {
    const Gpu& gpu = catalog.gpu(id);
    return make_kernel_model(gpu, training_kernels(gpu, bundle), bundle)->predict(product).time;
  };
  EXPECT_LT(time("gb200").value, 1.1 * time("b200-sxm").value);
}

}  // namespace training_kernels_test
}  // namespace orrery
