// Remembered times are those of the model, however many ops were asked.
#include "orrery/kernel/tiers/remembered_kernels.h"

#include <gtest/gtest.h>

#include "orrery/hardware/catalog.h"

namespace orrery {
namespace remembered_kernels_test {

Op op_number(std::int64_t i) {
  switch (i % 4) {
    case 0:
      return Gemm{i + 1, 4096, 4096};
    case 1:  // moves as many bytes as the last one, with other sizes
      return Gemm{i, 4096, 4096, 1, Format::kBf16, false};
    case 2:
      return Elementwise{Elementwise::Kind::kNorm, i, 4096, Bytes(8192.0 * static_cast<double>(i)),
                         Bytes(8192.0 * static_cast<double>(i))};
    default: {
      DecodeAttention a;
      a.batch = 1 + i % 64, a.context = static_cast<double>(i) + 0.25, a.heads = 32;
      a.kv_heads = 8;
      return a;
    }
  }
}

void expect_same(const KernelTime& a, const KernelTime& b, std::int64_t i) {
  EXPECT_EQ(a.time.value, b.time.value) << i;
  EXPECT_EQ(a.time.sigma(), b.time.sigma()) << i;
  EXPECT_EQ(a.compute, b.compute) << i;
  EXPECT_EQ(a.memory, b.memory) << i;
  EXPECT_EQ(a.bound, b.bound) << i;
}

TEST(RememberedKernels, AreThoseOfTheModel) {
  const auto model = make_kernel_model(Catalog().gpu("h100-sxm"), KernelClasses{}, Bundle());
  const RememberedKernels remembered(*model);
  for (int round = 0; round < 2; ++round) {
    for (std::int64_t i = 0; i < 20'000; i += 1 + i % 3)  // more than are kept
      expect_same(remembered.predict(op_number(i)), model->predict(op_number(i)), i);
  }
}

}  // namespace remembered_kernels_test
}  // namespace orrery
