#include "orrery/kernel/fit/fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "orrery/base/error.h"
#include "orrery/hardware/catalog.h"
#include "orrery/kernel/families/families.h"
#include "orrery/kernel/fit/samples.h"
#include "orrery/kernel/surface/surface.h"

namespace orrery {
namespace fit_test {

// A folder with a gemm table of bf16 products on an H100 whose times are 3 us + base * exp(true
// surface).
class FitTest : public testing::Test {
 protected:
  void SetUp() override {
    dir_ = std::filesystem::path(testing::TempDir()) / "orrery-fit-test";
    std::filesystem::create_directories(dir_);
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  static double truth(const KernelPoint& p) { return 0.4 - 0.03 * p.x[0] + 0.02 * (p.x[1] - 11); }

  void write(double fast_rows) {
    std::ofstream out(dir_ / "gemm.csv.gz");  // read by content: plain text will do
    out << "system,framework,version,kernel_source,dtype,m,n,k,latency_us\n";
    const Gpu gpu = Catalog().gpu("h100-sxm");
    int i = 0;
    for (std::int64_t n = 256; n <= 65536; n *= 2) {
      for (std::int64_t k = 256; k <= 32768; k *= 2) {
        for (std::int64_t m = 1; m <= 8192; m *= 2) {
          Gemm g;
          g.m = m, g.n = n, g.k = k;
          const KernelPoint p = gemm_family().point(g, gpu, true);
          double time = 3e-6 + p.base.value() * std::exp(truth(p));
          if (fast_rows > 0 && ++i % 50 == 0) time = p.least.value() * fast_rows;
          out << "h100_sxm,vllm,1.0,default,bfloat16," << m << ',' << n << ',' << k << ','
              << time * 1e6 << '\n';
        }
      }
    }
    out << "unknown_gpu,vllm,1.0,default,bfloat16,1,1024,1024,5\n";
  }

  std::filesystem::path dir_;
};

TEST_F(FitTest, RecoversAKnownSurface) {
  write(0);
  const KernelFit fit = fit_kernels(dir_, "gemm", "2026-01-02", Bundle());
  ASSERT_EQ(fit.files.size(), 1u);
  EXPECT_EQ(fit.files[0].first, "kernels/gemm/vllm-h100-sxm.txt.gz");
  const SurfaceFile file = parse_surfaces(inflated_surfaces(fit.files[0].second, "x"), "x");
  EXPECT_NE(file.comment.find("2026-01-02"), std::string::npos);
  const Surface* s = file.find("bf16");
  ASSERT_NE(s, nullptr);
  // On a small call, floor and surface cannot be distinguished; only their sum is tested.
  const Gpu gpu = Catalog().gpu("h100-sxm");
  const auto expect_time = [&](std::int64_t m, std::int64_t n, std::int64_t k, double within) {
    Gemm g;
    g.m = m, g.n = n, g.k = k;
    const KernelPoint p = gemm_family().point(g, gpu, true);
    const double right = 3e-6 + p.base.value() * std::exp(truth(p));
    EXPECT_NEAR(s->floor.value() + p.base.value() * std::exp(s->at(cell_at(file.axes, p.x))), right,
                right * within);
  };
  expect_time(3000, 5000, 3000, 0.01);  // not in the table
  expect_time(6, 700, 700, 0.05);
  ASSERT_EQ(fit.rows.size(), 1u);
  EXPECT_LT(fit.rows[0].median, 1.5);
}

TEST_F(FitTest, LeavesOutWholeShapesAndSaysHowMany) {
  write(0);
  const KernelFit fit = fit_kernels(dir_, "gemm", "2026-01-02", Bundle());
  const std::size_t all = 9 * 8 * 14;
  EXPECT_EQ(fit.rows[0].fitted + fit.rows[0].left_out, all);
  EXPECT_GT(fit.rows[0].left_out, all / 20);
  EXPECT_LT(fit.rows[0].left_out, all / 3);
}

TEST_F(FitTest, UnknownSystemsAndMissingTablesAreRefusedByName) {
  write(0);
  const KernelFit fit = fit_kernels(dir_, "gemm", "2026-01-02", Bundle());
  ASSERT_EQ(fit.refused.size(), 1u);
  EXPECT_NE(fit.refused[0].find("unknown_gpu"), std::string::npos);
  const KernelFit none = fit_kernels(dir_, "moe", "2026-01-02", Bundle());
  EXPECT_TRUE(none.files.empty());
  ASSERT_EQ(none.refused.size(), 1u);
  EXPECT_NE(none.refused[0].find("moe.csv.gz"), std::string::npos);
}

TEST_F(FitTest, RowsFasterThanPossibleAreCountedAndNotUsed) {
  write(0.5);
  std::vector<std::string> refused;
  const FamilySamples samples = read_samples(dir_, gemm_tables(), Catalog(), refused);
  const ClassSamples& c = samples.at({"vllm", "h100-sxm"}).at("bf16");
  EXPECT_EQ(c.impossible, 9 * 8 * 14 / 50);
  EXPECT_EQ(c.points.size() + c.impossible, 9 * 8 * 14);
}

}  // namespace fit_test
}  // namespace orrery
