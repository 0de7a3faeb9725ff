// Tables as tools/sweep writes them, made from a known law, are fitted and served: do the times of
// the law come back?
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "orrery/base/error.h"
#include "orrery/hardware/catalog.h"
#include "orrery/kernel/fit/fit.h"
#include "orrery/kernel/tables/sweep_rows.h"
#include "orrery/kernel/tiers/kernel_model.h"

namespace orrery {
namespace sweep_fit_test {

namespace fs = std::filesystem;

constexpr const char* kGpu = "mi300x";  // has no sweep in the catalog
constexpr const char* kCommon = "system,framework,version,kernel_source,";

// The law in microseconds: a start, and work at a share of the rate of the data sheet.
struct Law {
  double start, share;
  double operator()(double bytes, double flops = 0) const {
    const Gpu gpu = Catalog().gpu(kGpu);
    return start + 1e6 *
                       std::max(flops / gpu.peak(Dtype::kBf16).value(),
                                bytes / gpu.memory.bandwidth.value()) /
                       share;
  }
};
constexpr Law kAdd{3, 0.8}, kNormGradient{6, 0.5}, kGather{4, 0.6}, kAdam{5, 0.9},
    kInputGradient{6, 0.6}, kWeightGradient{6, 0.4}, kAttentionGradient{20, 0.3}, kGemm{4, 0.7};

class SweepFit : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(dir_);
    fs::create_directories(dir_ / "out");
    facts(R"({"name": "G", "state": {"sound": true, "problems": []}})");
  }
  void TearDown() override { fs::remove_all(dir_); }

  void facts(const std::string& text) { std::ofstream(dir_ / "device.json") << text; }

  std::ofstream table(const std::string& name, const std::string& columns) {
    std::ofstream out(dir_ / (name + ".csv"));
    out << kCommon << columns << ",latency_us,power_w\n";
    return out;
  }
  static std::string common() { return std::string(kGpu) + ",pytorch,2.5,k,"; }

  void write_all() {
    std::ofstream add = table("elementwise", "op,dtype,rows,width"),
                  back = table("elementwise_backward", "op,dtype,rows,width");
    for (double rows = 1; rows <= 65536; rows *= 4) {
      for (double width : {512, 1024, 2048, 4096, 6144, 8192, 14336}) {
        const double one = 2 * rows * width;
        const auto row = [&](std::ofstream& to, const char* op, double time) {
          to << common() << op << ",bfloat16," << rows << ',' << width << ',' << time << ",\n";
        };
        row(add, "add", kAdd(3 * one));
        row(add, "copy", kAdd(2 * one));
        row(add, "rms_norm", 40 + kAdd(9 * one));  // several kernels: must not count
        row(add, "silu_mul", 20 + kAdd(5 * one));  // of torch's eager mode alone
        row(add, "embedding", kGather(2 * one));
        row(back, "layer_norm", kNormGradient(3 * one));
      }
    }
    std::ofstream adam = table("optimizer", "op,state,parameters");
    for (double p = 1e4; p < 1e9; p *= 2)
      adam << common() << "adam_fused,fp32," << static_cast<std::int64_t>(p) << ',' << kAdam(28 * p)
           << ",\n";
    std::ofstream product = table("gemm_backward", "dtype,gradient,m,n,k"),
                  forward = table("gemm", "dtype,m,n,k");
    for (double m = 256; m <= 16384; m *= 2) {
      for (double n : {1024, 2048, 4096, 8192, 16384}) {
        for (double k : {1024, 2048, 4096, 8192}) {
          const double flops = 2 * m * n * k, bytes = 2 * (m * n + n * k + m * k);
          for (const bool input : {true, false})
            product << common() << "bfloat16," << (input ? "input," : "weight,") << m << ',' << n
                    << ',' << k << ',' << (input ? kInputGradient : kWeightGradient)(bytes, flops)
                    << ",\n";
          forward << common() << "bfloat16," << m << ',' << n << ',' << k << ','
                  << kGemm(bytes, flops) << ",\n";
        }
      }
    }
    std::ofstream attention = table("attention_backward",
                                    "attn_dtype,kv_dtype,batch,heads,kv_heads,head_dim,window,isl,"
                                    "past");
    for (double batch : {1, 2, 4, 8, 16}) {
      for (double tokens = 256; tokens <= 16384; tokens *= 2) {
        for (double heads : {8, 16, 32}) {
          attention << common() << "bfloat16,bfloat16," << batch << ',' << heads << ",8,128,0,"
                    << tokens << ",0,"
                    << kAttentionGradient(0, 2.5 * 2 * batch * heads * 256 * tokens * tokens / 2)
                    << ",\n";
        }
      }
    }
  }

  std::unique_ptr<KernelModel> served(const KernelFit& fit, const KernelClasses& classes = {}) {
    for (const auto& [path, text] : fit.files) {
      const fs::path file = dir_ / "out" / path;
      fs::create_directories(file.parent_path());
      std::ofstream(file) << text;
    }
    return make_kernel_model(Catalog().gpu(kGpu), classes, Bundle(dir_ / "out"));
  }
  static void expect_time(const KernelModel& model, const Op& op, double microseconds,
                          double within) {
    const KernelTime t = model.predict(op);
    EXPECT_NEAR(t.time.value.value() * 1e6, microseconds, microseconds * within) << describe(op);
    EXPECT_EQ(t.time.origin, Origin::kMeasured) << describe(op);
    EXPECT_NE(model.provenance(op).find("pytorch"), std::string::npos) << model.provenance(op);
  }
  static Elementwise work(Elementwise::Kind kind, double rows, double width, double reads) {
    Elementwise e;
    e.kind = kind;
    e.rows = static_cast<std::int64_t>(rows), e.width = static_cast<std::int64_t>(width);
    e.written = Bytes(2 * rows * width);
    e.read = e.written * reads;
    return e;
  }

  fs::path dir_ = fs::path(testing::TempDir()) / "orrery-sweep-fit";
};

TEST_F(SweepFit, TimesOfAKnownLawComeBack) {
  write_all();
  const KernelFit fit = fit_kernels(dir_, "", "2026-11-21", Bundle());
  EXPECT_TRUE(fit.refused.empty()) << fit.refused.front();
  for (const KernelFitRow& row : fit.rows) {
    // A surface over rows and width cannot tell which tensors stay in the cache, so row kernels
    // have a wider bound.
    EXPECT_LT(row.median, row.family == "row_kernels" ? 8 : 4)
        << row.family << ' ' << row.kernel_class;
    EXPECT_GT(row.fitted, 5 * row.left_out / 2) << row.family << ' ' << row.kernel_class;
  }
  const auto model = served(fit);
  // Sizes that are not in the tables, beyond the cache (256 MiB).
  using Kind = Elementwise::Kind;
  expect_time(*model, work(Kind::kAdd, 40000, 6144, 2), kAdd(3 * 2 * 40000.0 * 6144), 0.03);
  expect_time(*model, work(Kind::kNorm, 30000, 12288, 1), kAdd(2 * 2 * 30000.0 * 12288), 0.03);
  expect_time(*model, gradient(work(Kind::kNorm, 40000, 6144, 1)),
              kNormGradient(3 * 2 * 40000.0 * 6144), 0.03);
  expect_time(*model, Embedding{50000, 8192, Dtype::kBf16}, kGather(2 * 2 * 50000.0 * 8192), 0.03);
  expect_time(*model, adam_step(200'000'000, Dtype::kFp32, Dtype::kFp32, {}, Dtype::kFp32),
              kAdam(28 * 2e8), 0.03);
  // Small ones: the start decides.
  expect_time(*model, work(Kind::kAdd, 8, 1024, 2), kAdd.start, 0.1);
  Gemm g;
  g.m = 6000, g.n = 5120, g.k = 5120;
  const double flops = 2.0 * 6000 * 5120 * 5120;
  expect_time(*model, gradients(g).first, kInputGradient(0, flops), 0.08);
  expect_time(*model, gradients(g).second, kWeightGradient(0, flops), 0.08);
  PrefillAttention a;
  a.batch = 3, a.new_tokens = 6000, a.heads = 32, a.kv_heads = 8;
  expect_time(*model, AttentionBackward{a},
              kAttentionGradient(0, 2.5 * 2 * 3 * 32 * 256 * 6000.0 * 6000 / 2), 0.08);
}

TEST_F(SweepFit, AProductOfTheLibraryServesEveryEngine) {
  write_all();
  const KernelFit fit = fit_kernels(dir_, "gemm", "2026-11-21", Bundle());
  const auto vllm = served(fit);
  KernelClasses classes;
  classes.gemm = "pytorch";
  const auto torch = served(fit, classes);
  Gemm g;
  g.m = 6000, g.n = 5120, g.k = 5120;
  const KernelTime engine = vllm->predict(g), own = torch->predict(g);
  EXPECT_EQ(engine.time.value, own.time.value);
  EXPECT_EQ(own.time.origin, Origin::kMeasured);
  EXPECT_EQ(engine.time.origin, Origin::kTransferred);
  EXPECT_GT(engine.time.sigma(), own.time.sigma());
  EXPECT_LT(engine.time.sigma(), 0.15);
  // Quantised products of eager PyTorch do not serve an engine.
  g.format = Format::kFp8;
  EXPECT_EQ(vllm->predict(g).time.origin, Origin::kTransferred);  // from the 16-bit ones
}

TEST_F(SweepFit, EagerTorchHasKernelsOfItsOwn) {
  write_all();
  KernelClasses classes;
  classes.rows = "pytorch";
  const auto model = served(fit_kernels(dir_, "row_kernels", "2026-11-21", Bundle()), classes);
  // Two kernels in place of one: the op's bytes are three passes, the law's five.
  expect_time(*model, work(Elementwise::Kind::kActivation, 40000, 8192, 2),
              20 + kAdd(5 * 2 * 40000.0 * 8192), 0.05);
  // Without a gate it is pointwise work.
  expect_time(*model, work(Elementwise::Kind::kActivation, 40000, 8192, 1),
              kAdd(2 * 2 * 40000.0 * 8192), 0.05);
}

TEST_F(SweepFit, WithoutASweepGradientsAreTheForwardsMultiples) {
  const auto model = make_kernel_model(Catalog().gpu(kGpu), {}, Bundle());
  PrefillAttention a;
  a.new_tokens = 4096, a.heads = a.kv_heads = 32;
  EXPECT_NE(model->provenance(AttentionBackward{a}).find("times the forward pass"),
            std::string::npos);
  EXPECT_LT(
      model->predict(gradient(work(Elementwise::Kind::kNorm, 4096, 4096, 1))).time.value.value(),
      1e-3);
}

TEST_F(SweepFit, RowsThatTheHostBoundsAreNotFitted) {
  std::ofstream out = table("optimizer", "op,state,parameters");
  for (int p = 1; p < 40; ++p)
    out << kGpu << ",pytorch,2.5,adamw_fused_eager,adam_fused,fp32," << p * 10'000'000 << ",1,\n";
  out.close();
  EXPECT_TRUE(fit_kernels(dir_, "elementwise", "2026-11-21", Bundle()).files.empty());
}

TEST_F(SweepFit, RehearsalsAreRefusedAndUnsoundSweepsSaySo) {
  write_all();
  facts(R"({"name": "cpu", "rehearsal": true, "state": {"sound": true, "problems": []}})");
  EXPECT_THROW(fit_kernels(dir_, "", "2026-11-21", Bundle()), InputError);
  facts(R"({"name": "G", "state": {"sound": false, "problems": ["the clock is held down"]}})");
  std::vector<std::string> refused;
  EXPECT_TRUE(check_sweep(dir_, refused));
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_NE(refused[0].find("the clock is held down"), std::string::npos);
  facts("{");
  EXPECT_THROW(check_sweep(dir_, refused), InputError);
  EXPECT_FALSE(check_sweep(dir_ / "out", refused));
}

TEST_F(SweepFit, BadRowsAreNamed) {
  for (const char* row : {"add,bfloat16,0,1024", "add,int3,16,1024", "frobnicate,bfloat16,16,1024",
                          "add,bfloat16,many,1024"}) {
    table("elementwise", "op,dtype,rows,width") << common() << row << ",5,\n";
    try {
      fit_kernels(dir_, "elementwise", "2026-11-21", Bundle());
      ADD_FAILURE() << row;
    } catch (const InputError& e) {
      EXPECT_NE(std::string(e.what()).find("elementwise.csv:2"), std::string::npos) << e.what();
    }
  }
  fs::remove(dir_ / "elementwise.csv");
  table("gemm_backward", "dtype,gradient,m,n,k") << common() << "bfloat16,both,64,64,64,5,\n";
  EXPECT_THROW(fit_kernels(dir_, "gemm_gradient", "2026-11-21", Bundle()), InputError);
}

}  // namespace sweep_fit_test
}  // namespace orrery
