// Attention by the library that a training stack calls.
#include "orrery/training/iteration/library_attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "orrery/base/error.h"
#include "orrery/hardware/catalog.h"
#include "orrery/workload/plan/training_stack.h"
#include "tests/refusal.h"

namespace orrery {
namespace library_attention_test {

using ::testing::HasSubstr;

KernelTime one_millisecond() {
  KernelTime t;
  t.time.value = milliseconds(1);
  t.compute = milliseconds(0.4), t.memory = milliseconds(0.1);
  t.time.shared = 0.03;
  return t;
}

AttentionKernels library() {
  AttentionKernels k;
  k.ratios = {{64, 1.5, 1.6}, {128, 2, 1.8}};
  k.error = 0.04;
  return k;
}

TEST(LibraryAttention, TheRatioOfTheNearestHeadSizeMultipliesThePass) {
  PrefillAttention a;
  a.head_dim = a.value_dim = 96;  // nearer to 128 by the logarithm
  KernelTime forward = one_millisecond(), backward = forward;
  attend_by(library(), a, forward);
  EXPECT_DOUBLE_EQ(forward.time.value.value(), 2e-3);
  EXPECT_NEAR(forward.time.shared, 0.05, 1e-12);  // 3 and 4 %, independent
  a.head_dim = 80;                                // nearer to 64
  attend_by(library(), AttentionBackward{a}, backward);
  EXPECT_DOUBLE_EQ(backward.time.value.value(), 1.6e-3);
  LatentAttentionCore latent;
  latent.qk_nope_dim = 128, latent.qk_rope_dim = 64;
  KernelTime t = one_millisecond();
  attend_by(library(), latent, t);
  EXPECT_DOUBLE_EQ(t.time.value.value(), 2e-3);
}

TEST(LibraryAttention, OtherOpsStayAndNothingIsFasterThanTheDataSheet) {
  KernelTime product = one_millisecond();
  attend_by(library(), Gemm{64, 64, 64, 1, Format::kBf16, false}, product);
  EXPECT_DOUBLE_EQ(product.time.value.value(), 1e-3);
  AttentionKernels fast;
  fast.ratios = {{0, 0.2, 0.2}};
  KernelTime t = one_millisecond();
  attend_by(fast, PrefillAttention{}, t);
  EXPECT_DOUBLE_EQ(t.time.value.value(), 0.4e-3);
  KernelTime own = one_millisecond();
  attend_by({}, PrefillAttention{}, own);  // the kernel room's
  EXPECT_DOUBLE_EQ(own.time.value.value(), 1e-3);
}

// PyTorch's scaled_dot_product_attention calls cuDNN on Hopper from release 2.11 on; our own table
// of an H100 with it has the same times for "pytorch" and "cudnn".
TEST(LibraryAttention, StacksCallTheLibraryOfTheirReleaseAndGpu) {
  const Catalog catalog;
  const Gpu &h100 = catalog.gpu("h100-sxm"), &a100 = catalog.gpu("a100-80g-sxm");
  const TrainingStackProfile &fsdp = training_stack("fsdp"), &nvidia = training_stack("megatron");
  EXPECT_EQ(attention_of(fsdp, {}, h100), "flash2");
  EXPECT_EQ(attention_of(fsdp, {{}, TorchVersion{2, 10}}, h100), "flash2");
  EXPECT_EQ(attention_of(fsdp, {{}, TorchVersion{2, 11}}, h100), "cudnn");
  EXPECT_EQ(attention_of(fsdp, {2026.5, {}}, h100), "cudnn");  // of June 2026: PyTorch 2.12
  EXPECT_EQ(attention_of(fsdp, {2026.5, TorchVersion{2, 8}}, h100), "flash2");
  EXPECT_EQ(attention_of(fsdp, {2026.5, {}}, a100), "flash2");
  EXPECT_EQ(attention_of(fsdp, {}, catalog.gpu("b200-sxm")), "cudnn");
  EXPECT_EQ(attention_of(nvidia, {}, h100), "cudnn");
  EXPECT_EQ(attention_of(nvidia, {}, a100), "flash2");
  EXPECT_EQ(attention_of(nvidia, {}, catalog.gpu("mi300x")), "");
}

// The table behind the ratios has FlashAttention-2 1.4 to 2.4 times as long as cuDNN forward and
// 1.5 to 1.9 times backward (catalog/measured/h100-sxm-2026-11-26).
TEST(LibraryAttention, FlashAttention2OnHopperIsAsMeasured) {
  const Gpu gpu = Catalog().gpu("h100-sxm");
  for (const int head : {64, 128, 256}) {
    const AttentionKernels::Ratio slow = attention_kernels("flash2", gpu).at(head),
                                  fast = attention_kernels("cudnn", gpu).at(head);
    EXPECT_GT(slow.forward / fast.forward, 1.4) << head;
    EXPECT_LT(slow.forward / fast.forward, 2.4) << head;
    EXPECT_GT(slow.backward / fast.backward, 1.5) << head;
    EXPECT_LT(slow.backward / fast.backward, 1.9) << head;
  }
}

TEST(LibraryAttention, UnknownLibrariesAndGpusAreRefused) {
  const Catalog catalog;
  EXPECT_THAT(refusal_of<InputError>([&] { attention_kernels("flash", catalog.gpu("h100-sxm")); }),
              HasSubstr("flash2"));
  EXPECT_THAT(refusal_of<NoData>([&] { attention_kernels("flash3", catalog.gpu("mi300x")); }),
              HasSubstr("hopper"));
  EXPECT_THROW(load_attention_backends(Bundle().replacing(
                   "training", {{"training/attention.yaml",
                                 "backends: [{name: a, doc: b, sources: [c], ratios: "
                                 "[{architecture: hopper}]}]"}})),
               InputError);  // a ratio without source
}

TEST(TorchVersions, AreReadAndDated) {
  EXPECT_EQ(read_torch_version("2.11.0+cu130"), (TorchVersion{2, 11}));
  EXPECT_LT(read_torch_version("2.9"), read_torch_version("2.10"));
  for (const char* text : {"", "2", "11", "2.x", "v2.11", "3.1", "2.11-rc1"})
    EXPECT_THROW(read_torch_version(text), InputError) << text;
  EXPECT_EQ(torch_at(2024.99), (TorchVersion{2, 5}));  // December 2024
  EXPECT_EQ(torch_at(2015.0), std::nullopt);
}

// Dao 2023, section 4.1: FlashAttention-2 is 1.3 to 1.5 times as fast forward and twice backward.
TEST(LibraryAttention, TritonsKernelsOf2023AreSlowerThanFlashAttention2) {
  for (const char* gpu : {"a100-80g-sxm", "h100-sxm"}) {
    for (const int heads : {64, 128}) {
      const auto ratio = [&](const char* library) {
        const AttentionKernels k = attention_kernels(library, Catalog().gpu(gpu));
        return k.ratios.empty() ? AttentionKernels::Ratio{} : k.at(heads);
      };
      EXPECT_NEAR(ratio("triton").forward / ratio("flash2").forward, 1.4, 0.01) << gpu << heads;
      EXPECT_NEAR(ratio("triton").backward / ratio("flash2").backward, 2, 0.01) << gpu << heads;
    }
  }
  EXPECT_THROW(attention_kernels("triton", Catalog().gpu("b200-sxm")), NoData);
}

}  // namespace library_attention_test
}  // namespace orrery
