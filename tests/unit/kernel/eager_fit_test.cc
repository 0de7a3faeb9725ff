// Kernels timed as eager PyTorch launches them, gradients, and which families serve whom.
#include "orrery/kernel/fit/eager_fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>

#include "orrery/hardware/catalog.h"
#include "orrery/kernel/families/families.h"
#include "orrery/kernel/tiers/kernel_model.h"

namespace orrery {
namespace eager_fit_test {

namespace fs = std::filesystem;

// A folder with a table of softmax calls on V100. The kernel runs at 80 % of the bandwidth. The
// events add 10 us outside the kernel. Calls shorter than the 40 us of the host take 40 us.
class EagerTables : public testing::Test {
 protected:
  void SetUp() override {
    dir_ = fs::path(testing::TempDir()) / "eager_tables";
    fs::create_directories(dir_);
    std::ofstream table(dir_ / "softmax.csv.gz");  // told by its content: plain
    table << "gpu,op,dtype,split,rows,width,latency_us,n\n";
    for (int rows = 64; rows <= 65536; rows *= 2) {
      for (int width = 64; width <= 4096; width += 256) {
        const double kernel = 4 + 8.0 * rows * width / (0.8 * 900e3);
        table << "v100_pcie_32gb,softmax,fp32,train," << rows << ',' << width << ','
              << std::max(40.0, kernel + 10) << ",1\n";
      }
    }
  }
  void TearDown() override { fs::remove_all(dir_); }
  fs::path dir_;
};

TEST_F(EagerTables, HostTimeIsNotTakenForTheKernels) {
  ASSERT_TRUE(has_eager_tables(dir_));
  KernelFit fit;
  fit_eager(dir_, "row_kernels", "2026-11-21", Bundle(), fit);
  ASSERT_EQ(fit.files.size(), 1u);
  EXPECT_EQ(fit.files[0].first, "kernels/row_kernels/pytorch-v100-32g-pcie.txt.gz");
  ASSERT_EQ(fit.rows.size(), 1u);
  EXPECT_EQ(fit.rows[0].kernel_class, "softmax");
  EXPECT_LT(fit.rows[0].mape, 5);
  // Rows near 40 us tell nothing; those beyond 50 us are read.
  EXPECT_LT(fit.rows[0].fitted + fit.rows[0].left_out, 11u * 16u);

  // Read from an overlay, a call of 1 GiB takes the time of the formula, without the 10 us.
  const fs::path file = dir_ / fit.files[0].first;
  fs::create_directories(file.parent_path());
  std::ofstream(file) << fit.files[0].second;
  KernelClasses classes;
  classes.rows = "pytorch";
  const Gpu v100 = Catalog().gpu("v100-32g-pcie");
  const auto model = make_kernel_model(v100, classes, Bundle(dir_));
  const Elementwise e{Elementwise::Kind::kSoftmax, 65536, 2048, Bytes(65536 * 2048 * 4.0),
                      Bytes(65536 * 2048 * 4.0)};
  const KernelTime t = model->predict(e);
  EXPECT_NEAR(t.time.value.value(), 4e-6 + 65536 * 2048 * 8.0 / (0.8 * 900e9), 0.05 * 1.49e-3);
  EXPECT_EQ(t.time.origin, Origin::kMeasured);
  // Another GPU of the maker takes it over; one of another maker does not.
  EXPECT_EQ(make_kernel_model(Catalog().gpu("v100-32g-sxm"), classes, Bundle(dir_))
                ->predict(e)
                .time.origin,
            Origin::kTransferred);
  EXPECT_EQ(
      make_kernel_model(Catalog().gpu("mi355x"), classes, Bundle(dir_))->provenance(e).find("v100"),
      std::string::npos);
}

TEST(Gradients, AreWiderThanForward) {
  const auto model = make_kernel_model(Catalog().gpu("h100-sxm"), {}, Bundle());
  Gemm g;
  g.m = 4096;
  g.n = 4096;
  g.k = 8192;
  const KernelTime forward = model->predict(g), second = model->predict(gradients(g).second);
  EXPECT_GT(second.time.shared, forward.time.shared);
  PrefillAttention a;
  a.new_tokens = 4096;
  a.heads = a.kv_heads = 32;
  const KernelTime t = model->predict(a), back = model->predict(AttentionBackward{a});
  // 2.5 times the FLOPs at a lower rate (Hopper: 1.28).
  EXPECT_NEAR(back.time.value / t.time.value, 2.5 * 1.28, 1e-9);
  EXPECT_GT(back.time.sigma(), t.time.sigma());
  EXPECT_GE(back.time.value, std::max(back.compute, back.memory));
  EXPECT_NE(model->provenance(AttentionBackward{a}).find("3.20 times"), std::string::npos);
}

// The measured ratios of FlashAttention-2 (catalog/measured/h100-sxm-2026-11-26, framework flash).
TEST(Gradients, OfFlashAttention2RunNearerToTheForwardPassInLongSequences) {
  for (const char* gpu : {"a100-80g-sxm", "rtx-4090"}) {
    const auto model = make_kernel_model(Catalog().gpu(gpu), {}, Bundle());
    Seconds last;
    for (const auto& [tokens, ratio] :
         std::map<int, double>{{1024, 1.36}, {4096, 1.15}, {16384, 1.06}}) {
      PrefillAttention a;
      a.new_tokens = tokens;
      a.heads = a.kv_heads = 32;
      const Seconds forward = model->predict(a).time.value;
      const Seconds back = model->predict(AttentionBackward{a}).time.value;
      EXPECT_NEAR(back / forward / 2.5, ratio, 0.015) << gpu << " " << tokens;
      EXPECT_GT(back, last);
      last = back;
    }
  }
}

TEST(OptimizerStep, StreamsItsStates) {
  const auto model = make_kernel_model(Catalog().gpu("h100-sxm"), {}, Bundle());
  const OptimizerStep step =
      adam_step(1'000'000'000, Dtype::kBf16, Dtype::kBf16, Dtype::kFp32, Dtype::kFp32);
  const KernelTime t = model->predict(step);
  EXPECT_GE(t.time.value, t.memory);
  EXPECT_LE(t.time.value, 2 * t.memory);
  EXPECT_EQ(t.bound, Bound::kMemory);
}

TEST(SustainedFp32, BindsOnSmallCardsOnly) {
  const Catalog catalog;
  for (const char* id : {"v100-32g-pcie", "a100-40g-sxm", "p100-pcie"})
    EXPECT_GE(KernelGpu(catalog.gpu(id)).sustained_fp32() * 1.1, catalog.gpu(id).peak(Dtype::kFp32))
        << id;
  const Gpu h100 = catalog.gpu("h100-sxm");  // 128 lanes a unit
  EXPECT_NEAR(KernelGpu(h100).sustained_fp32() / h100.peak(Dtype::kFp32), 0.8, 1e-9);
  for (const char* id : {"p4", "t4", "l4"})
    EXPECT_LT(KernelGpu(catalog.gpu(id)).sustained_fp32(), catalog.gpu(id).peak(Dtype::kFp32) * 0.6)
        << id;
}

// torch.matmul in fp32 as measured on cards of which the catalog has no fp32 sweep
// (github.com/zzc0721/torch-performance-test-data, database.md and issues 97, 107, 120, 185), each
// the best of five sizes; the L4, whose cap moves with the length of the call, the mean of five.
TEST(SustainedFp32, FollowsMeasuredCards) {
  const Catalog catalog;
  const std::map<std::string, double> measured = {
      {"l4", 12.5},       {"l40s", 46.9},     {"rtx-4090", 54.7}, {"rtx-a6000", 23.9},
      {"a40", 23.7},      {"rtx-3090", 24.8}, {"rtx-5090", 68},   {"rtx-pro-6000-server", 77},
      {"h100-sxm", 52.1}, {"h200-sxm", 51.3}};
  for (const auto& [id, teraflops] : measured) {
    const double rate = KernelGpu(catalog.gpu(id)).sustained_fp32().value() / 1e12;
    EXPECT_NEAR(rate / teraflops, 1, 0.13) << id << " " << rate;
  }
}

// A lower power limit never gives a higher rate, and half the power gives more than half the rate.
TEST(SustainedFp32, FallsWithThePowerLimit) {
  Gpu gpu = Catalog().gpu("l40s");
  double before = KernelGpu(gpu).sustained_fp32().value();
  const double full = before, power = gpu.power->value();
  for (const double share : {0.8, 0.6, 0.5, 0.3, 0.2}) {
    gpu.power = Watts(power * share);
    const double rate = KernelGpu(gpu).sustained_fp32().value();
    EXPECT_LT(rate, before);
    EXPECT_GT(rate, full * share);
    before = rate;
  }
}

TEST(Families, NarrowerOnesComeFirst) {
  auto first = [](const Op& op) {
    for (const KernelFamily* f : kernel_families()) {
      if (f->name() != "row_kernels" && f->serves(kernel_kind(op))) return std::string(f->name());
    }
    return std::string();
  };
  PrefillAttention a;
  EXPECT_EQ(first(a), "attention_prefill");
  a.causal = false;
  EXPECT_EQ(first(a), "attention_encoder");
  Gemm g;
  g.batch = 4;
  EXPECT_EQ(first(g), "mla_bmm");
  g.format = Format::kFp32;
  EXPECT_EQ(first(g), "batched_gemm");
  MoeExperts m;
  EXPECT_EQ(first(m), "moe");
  m.dispatched = MoeExperts::Dispatched::kDecode;
  EXPECT_EQ(first(m), "moe_wide_ep");
  EXPECT_EQ(first(Elementwise{Elementwise::Kind::kQuantise, 1, 1, {}, {}}), "quantise");
  EXPECT_EQ(first(Elementwise{Elementwise::Kind::kNorm, 1, 1, {}, {}}), "elementwise");
  EXPECT_EQ(first(CausalConvolution{}), "causal_convolution");
  EXPECT_EQ(first(SparseAttentionBlock{}), "sparse_attention");
}

// Every family: finite and positive for small and large ops on any of its classes' GPUs.
TEST(Families, NewOnesArePredictedWithoutSweeps) {
  const auto model = make_kernel_model(Catalog().gpu("mi300x"), {}, Bundle());
  SparseAttentionBlock s;
  MoeExperts m;
  m.hidden = 7168;
  m.intermediate = 2048;
  m.experts = 256;
  m.top_k = 8;
  m.ep = 64;
  m.dispatched = MoeExperts::Dispatched::kPrefill;
  CausalConvolution c;
  PrefillAttention a;
  a.causal = false;
  for (std::int64_t n : {1, 100, 100000}) {
    s.new_tokens = m.tokens = c.new_tokens = a.new_tokens = n;
    for (const Op& op : {Op(s), Op(m), Op(c), Op(a), Op(AttentionBackward{a})}) {
      const double t = model->predict(op).time.value.value();
      EXPECT_TRUE(std::isfinite(t) && t > 0) << describe(op);
    }
  }
}

}  // namespace eager_fit_test
}  // namespace orrery
